#include "image/layout/layout_directory.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/os/file.h"

namespace odyssey::image {

Result<UniqueFd> LayoutDirectory::Open(const std::string& name, uint64_t* size) {
  open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;  // no FIFO is waited for
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  UniqueFd fd(static_cast<int>(syscall(SYS_openat2, directory_, name.c_str(), &how, sizeof(how))));
  if (!fd) {
    if (errno == ELOOP) return InvalidArgument(name + ": it, or a directory on the way, is a link");
    return ErrnoStatus(errno, "open " + name);
  }
  struct stat info {};
  if (fstat(fd.get(), &info) != 0) return ErrnoStatus(errno, "look at " + name);
  if (!S_ISREG(info.st_mode)) return InvalidArgument(name + ": no regular file");
  *size = static_cast<uint64_t>(info.st_size);
  return fd;
}

Result<std::string> LayoutDirectory::Read(const std::string& name, size_t max_bytes) {
  uint64_t size = 0;
  ODY_ASSIGN_OR_RETURN(const UniqueFd fd, Open(name, &size));
  return ReadToTheEnd(fd.get(), name, max_bytes);
}

Result<UniqueFd> LayoutDirectory::OpenBlob(const Blob& blob) {
  uint64_t size = 0;
  const std::string name = BlobName(blob.digest);
  ODY_ASSIGN_OR_RETURN(UniqueFd fd, Open(name, &size));
  if (size == blob.size) return fd;
  return InvalidArgument(name + ": has " + std::to_string(size) + " bytes, and its manifest says " +
                         std::to_string(blob.size));
}

}  // namespace odyssey::image
