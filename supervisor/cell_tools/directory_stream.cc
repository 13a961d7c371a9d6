#include "supervisor/cell_tools/directory_stream.h"

#include <errno.h>
#include <fcntl.h>

#include <string_view>

namespace odyssey::cell_tools {

DirectoryStream::DirectoryStream(UniqueFd fd) : stream_(fdopendir(fd.get())) {
  if (stream_ != nullptr) (void)fd.release();
}

DirectoryStream::~DirectoryStream() {
  if (stream_ != nullptr) closedir(stream_);
}

const dirent* DirectoryStream::Next() {
  for (;;) {
    errno = 0;
    const dirent* entry = readdir(stream_);
    if (entry == nullptr) return nullptr;
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") return entry;
  }
}

mode_t TypeOf(int directory, const dirent& entry) {
  if (entry.d_type != DT_UNKNOWN) return DTTOIF(entry.d_type);
  struct stat info;
  if (fstatat(directory, entry.d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) return 0;
  return info.st_mode & S_IFMT;
}

}  // namespace odyssey::cell_tools
