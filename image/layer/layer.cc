#include "image/layer/layer.h"

#include <archive_entry.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "common/os/file.h"
#include "image/layer/archive_reader.h"
#include "image/layer/entry_path.h"
#include "image/layer/layer_writer.h"

namespace odyssey::image {
namespace {

Status ArchiveFailed(archive* reader) { return InvalidArgument("the tar: " + WhyUnread(reader)); }

class Unpacking final {
 public:
  Unpacking(archive* reader, int directory, const Bounds& bounds)
      : reader_(reader), writer_(directory), bounds_(bounds) {}

  Result<LayerStats> Run() {
    for (archive_entry* entry = nullptr;;) {
      const int code = archive_read_next_header(reader_, &entry);
      if (code == ARCHIVE_EOF) return stats_;
      if (code != ARCHIVE_OK) return ArchiveFailed(reader_);
      if (++stats_.entries > bounds_.entries) {
        return ResourceExhausted("the layer has more than " + std::to_string(bounds_.entries) +
                                 " entries");
      }
      const char* const path = archive_entry_pathname(entry);
      if (path == nullptr) return InvalidArgument("an entry has no path");
      const Status status = Take(path, entry);
      if (!status.ok()) return Status(status.code(), Quoted(path) + ": " + status.message());
    }
  }

 private:
  Status Take(std::string_view named, archive_entry* entry) {
    ODY_ASSIGN_OR_RETURN(const std::string path, NormalPath(named, bounds_));
    ODY_ASSIGN_OR_RETURN(const MarkedName mark, ReadMark(NameOf(path)));
    ODY_RETURN_IF_ERROR(CheckParents(path));
    switch (mark.mark) {
      case Mark::kNone:
        return Make(path, entry);
      case Mark::kGone: {
        ++stats_.whiteouts;
        const std::string parent(ParentOf(path));
        return writer_.Whiteout((parent.empty() ? "" : parent + "/") + std::string(mark.name));
      }
      case Mark::kOpaque:
        return writer_.Opaque(std::string(ParentOf(path)));
      case Mark::kIgnored:
        return OkStatus();
    }
    return OkStatus();
  }

  // A whiteout is a name, and no directory.
  static Status CheckParents(const std::string& path) {
    for (std::string_view parent = ParentOf(path); !parent.empty(); parent = ParentOf(parent)) {
      if (NameOf(parent).starts_with(".wh.")) {
        return InvalidArgument("its path has a whiteout as a directory");
      }
    }
    return OkStatus();
  }

  Result<Attributes> AttributesOf(archive_entry* entry) {
    const int64_t uid = archive_entry_uid(entry), gid = archive_entry_gid(entry);
    if (uid < 0 || uid > kMaxId || gid < 0 || gid > kMaxId) {
      return InvalidArgument("its owner is " + std::to_string(uid) + ":" + std::to_string(gid) +
                             "; allowed: 0 to " + std::to_string(kMaxId));
    }
    const mode_t mode = archive_entry_perm(entry);
    if ((mode & (S_ISUID | S_ISGID)) != 0) ++stats_.set_id_files;
    return Attributes{.mode = mode & kKeptBits,
                      .uid = static_cast<uid_t>(uid),
                      .gid = static_cast<gid_t>(gid),
                      .modified = {archive_entry_mtime(entry), archive_entry_mtime_nsec(entry)}};
  }

  Status Make(const std::string& path, archive_entry* entry) {
    if (const char* const to = archive_entry_hardlink(entry); to != nullptr) {
      ODY_ASSIGN_OR_RETURN(const std::string target, NormalPath(to, bounds_));
      return writer_.HardLink(path, target);
    }
    ODY_ASSIGN_OR_RETURN(const Attributes attributes, AttributesOf(entry));
    switch (archive_entry_filetype(entry)) {
      case AE_IFREG:
        return MakeFile(path, attributes, archive_entry_size(entry));
      case AE_IFDIR:
        return writer_.Directory(path, attributes);
      case AE_IFLNK: {
        const char* const to = archive_entry_symlink(entry);
        if (to == nullptr || *to == '\0') return InvalidArgument("it is a link to nothing");
        return writer_.Symlink(path, to, attributes);
      }
      case AE_IFIFO:
        return writer_.Fifo(path, attributes);
      case AE_IFCHR:
      case AE_IFBLK:
        return InvalidArgument("it is a device");
      default:
        return InvalidArgument("it is no file, directory, link or pipe");
    }
  }

  Status MakeFile(const std::string& path, const Attributes& attributes, int64_t size) {
    if (size < 0 || static_cast<uint64_t>(size) > bounds_.bytes) {
      return ResourceExhausted("it has more than " + std::to_string(bounds_.bytes) + " bytes");
    }
    ODY_ASSIGN_OR_RETURN(const UniqueFd file, writer_.File(path));
    for (;;) {
      const void* data = nullptr;
      size_t count = 0;
      la_int64_t offset = 0;
      const int code = archive_read_data_block(reader_, &data, &count, &offset);
      if (code == ARCHIVE_EOF) break;
      if (code != ARCHIVE_OK) return ArchiveFailed(reader_);
      ODY_RETURN_IF_ERROR(Count(count));
      ODY_RETURN_IF_ERROR(WriteAt(file.get(), data, count, offset));
    }
    return LayerWriter::Finish(file.get(), attributes, static_cast<uint64_t>(size));
  }

  Status Count(uint64_t count) {
    stats_.bytes += count;
    if (stats_.bytes > bounds_.bytes) {
      return ResourceExhausted("the layer has more than " + std::to_string(bounds_.bytes) +
                               " bytes");
    }
    const auto packed = static_cast<uint64_t>(archive_filter_bytes(reader_, -1));
    if (stats_.bytes > bounds_.free_bytes && stats_.bytes / bounds_.ratio > packed) {
      return ResourceExhausted("the layer has more than " + std::to_string(bounds_.ratio) +
                               " bytes for each byte of its tar");
    }
    return OkStatus();
  }

  static Status WriteAt(int file, const void* data, size_t count, la_int64_t offset) {
    const char* bytes = static_cast<const char*>(data);
    while (count > 0) {
      const ssize_t done = pwrite(file, bytes, count, offset);
      if (done < 0 && errno == EINTR) continue;
      if (done < 0) return ErrnoStatus(errno, "write the file");
      bytes += done;
      offset += done;
      count -= static_cast<size_t>(done);
    }
    return OkStatus();
  }

  archive* const reader_;
  LayerWriter writer_;
  const Bounds& bounds_;
  LayerStats stats_;
};

}  // namespace

Result<LayerStats> UnpackLayer(int file, int directory, const Bounds& bounds) {
  const Utf8Names names;
  const Archive reader(archive_read_new(), archive_read_free);
  if (!reader) return ResourceExhausted("no memory for a reader");
  archive_read_support_format_tar(reader.get());
  archive_read_support_filter_gzip(reader.get());
  archive_read_support_filter_zstd(reader.get());
  if (archive_read_open_fd(reader.get(), file, kReadBytes) != ARCHIVE_OK) {
    return ArchiveFailed(reader.get());
  }
  return Unpacking(reader.get(), directory, bounds).Run();
}

}  // namespace odyssey::image
