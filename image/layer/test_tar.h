#ifndef ODYSSEY_IMAGE_LAYER_TEST_TAR_H_
#define ODYSSEY_IMAGE_LAYER_TEST_TAR_H_

#include <archive.h>
#include <archive_entry.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <string>

#include "common/os/file.h"
#include "common/os/unique_fd.h"

namespace odyssey::image {

// A tar as libarchive writes it, of any entries.
class Tar final {
 public:
  explicit Tar(int filter = ARCHIVE_FILTER_NONE)
      : file_(memfd_create("layer", MFD_CLOEXEC)), writer_(archive_write_new()) {
    archive_write_set_format_pax(writer_);
    archive_write_add_filter(writer_, filter);
    archive_write_set_options(writer_, "hdrcharset=BINARY");
    archive_write_open_fd(writer_, file_.get());
  }
  ~Tar() {
    if (writer_ != nullptr) archive_write_free(writer_);
  }

  Tar& Add(const std::string& path, unsigned type, mode_t mode, const std::string& content = "",
           int64_t uid = 0, const std::string& link = "") {
    archive_entry* const entry = archive_entry_new();
    archive_entry_set_pathname(entry, path.c_str());
    archive_entry_set_filetype(entry, type);
    archive_entry_set_perm(entry, mode);
    archive_entry_set_uid(entry, uid);
    archive_entry_set_gid(entry, uid);
    archive_entry_set_mtime(entry, 1'700'000'000, 0);
    if (type == AE_IFLNK) archive_entry_set_symlink(entry, link.c_str());
    if (type == AE_IFREG && !link.empty()) archive_entry_set_hardlink(entry, link.c_str());
    if (type == AE_IFCHR || type == AE_IFBLK) archive_entry_set_rdev(entry, makedev(1, 3));
    archive_entry_set_size(entry, static_cast<la_int64_t>(content.size()));
    EXPECT_EQ(archive_write_header(writer_, entry), ARCHIVE_OK) << archive_error_string(writer_);
    archive_write_data(writer_, content.data(), content.size());
    archive_entry_free(entry);
    return *this;
  }
  Tar& File(const std::string& path, const std::string& content = "x", int64_t uid = 0) {
    return Add(path, AE_IFREG, 0644, content, uid);
  }
  Tar& Directory(const std::string& path, mode_t mode = 0755) { return Add(path, AE_IFDIR, mode); }
  Tar& Link(const std::string& path, const std::string& to) {
    return Add(path, AE_IFLNK, 0777, "", 0, to);
  }
  Tar& HardLink(const std::string& path, const std::string& to) {
    return Add(path, AE_IFREG, 0644, "", 0, to);
  }

  std::string Bytes() { return *ReadToTheEnd(fd(), "the tar", size_t{1} << 30); }

  // At its beginning.
  int fd() {
    if (writer_ != nullptr) archive_write_free(writer_);
    writer_ = nullptr;
    lseek(file_.get(), 0, SEEK_SET);
    return file_.get();
  }

 private:
  const UniqueFd file_;
  archive* writer_;
};

}  // namespace odyssey::image

#endif  // ODYSSEY_IMAGE_LAYER_TEST_TAR_H_
