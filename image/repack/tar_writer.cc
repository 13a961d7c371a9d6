#include "image/repack/tar_writer.h"

#include <archive.h>
#include <archive_entry.h>
#include <sys/stat.h>

namespace odyssey::image {
namespace {

constexpr std::string_view kWhiteout = ".wh.";

// Whether a component is a name that a layer uses for what it takes away.
bool HasMark(std::string_view path) {
  return path.starts_with(kWhiteout) || path.find("/.wh.") != std::string_view::npos;
}

}  // namespace

TarWriter::TarWriter(int file) : writer_(archive_write_new()), entry_(archive_entry_new()) {
  ODY_CHECK(writer_ != nullptr && entry_ != nullptr);
  archive_write_set_format_pax(writer_);
  // Names are bytes here, as in the kernel.
  archive_write_set_format_option(writer_, "pax", "hdrcharset", "BINARY");
  ODY_CHECK(archive_write_open_fd(writer_, file) == ARCHIVE_OK);
}

TarWriter::~TarWriter() {
  archive_entry_free(entry_);
  archive_write_free(writer_);
}

Status TarWriter::Failed() const {
  const char* const why = archive_error_string(writer_);
  return Unavailable(std::string("write the layer: ") + (why == nullptr ? "failed" : why));
}

Status TarWriter::Begin(const TarHeader& header) {
  if (HasMark(header.path)) {
    return InvalidArgument(header.path + ": a name that begins with .wh. removes another one");
  }
  archive_entry* const entry = archive_entry_clear(entry_);
  archive_entry_set_pathname(entry, header.path.c_str());
  archive_entry_set_mode(entry, header.type | header.mode);
  archive_entry_set_uid(entry, header.uid);
  archive_entry_set_gid(entry, header.gid);
  archive_entry_set_mtime(entry, header.mtime, 0);
  archive_entry_set_size(entry, static_cast<la_int64_t>(header.size));
  if (header.hard_link) {
    archive_entry_set_hardlink(entry, header.link.c_str());
  } else if (S_ISLNK(header.type)) {
    archive_entry_set_symlink(entry, header.link.c_str());
  }
  return archive_write_header(writer_, entry) == ARCHIVE_OK ? OkStatus() : Failed();
}

Status TarWriter::Data(std::string_view bytes) {
  const auto size = static_cast<la_ssize_t>(bytes.size());
  return archive_write_data(writer_, bytes.data(), bytes.size()) == size ? OkStatus() : Failed();
}

Status TarWriter::Finish() {
  return archive_write_close(writer_) == ARCHIVE_OK ? OkStatus() : Failed();
}

}  // namespace odyssey::image
