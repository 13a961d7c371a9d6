#ifndef ODYSSEY_SUPERVISOR_CELL_TOOLS_DIRECTORY_STREAM_H_
#define ODYSSEY_SUPERVISOR_CELL_TOOLS_DIRECTORY_STREAM_H_

#include <dirent.h>
#include <sys/stat.h>

#include <string>

#include "common/os/unique_fd.h"

namespace odyssey::cell_tools {

// readdir(3) over a descriptor of a directory, without "." and "..".
class DirectoryStream final {
 public:
  explicit DirectoryStream(UniqueFd fd);
  DirectoryStream(const DirectoryStream&) = delete;
  DirectoryStream& operator=(const DirectoryStream&) = delete;
  ~DirectoryStream();

  bool ok() const { return stream_ != nullptr; }  // else errno
  int fd() const { return dirfd(stream_); }
  // The next entry; nullptr at the end (errno 0) or for an error (errno). Valid until the next
  // call.
  const dirent* Next();

 private:
  DIR* stream_;
};

// S_IFDIR and so on, without following a link; 0 if it is gone.
mode_t TypeOf(int directory, const dirent& entry);

}  // namespace odyssey::cell_tools

#endif  // ODYSSEY_SUPERVISOR_CELL_TOOLS_DIRECTORY_STREAM_H_
