#include "policy/dialect/project_root.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "common/base/refusal.h"
#include "common/os/regular_file.h"
#include "policy/dialect/bundle.h"

namespace odyssey::dialect {
namespace {

constexpr int kMostTries = 64;

// Links are followed as long as they stay below `root`: EXDEV of one that does not.
UniqueFd OpenBelow(const UniqueFd& root, const std::string& path, uint64_t flags) {
  open_how how = {};
  how.flags = flags | O_CLOEXEC;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  long fd = -1;
  // EAGAIN: something was renamed meanwhile, and the kernel cannot tell whether it stayed below.
  for (int tries = 0; tries < kMostTries; ++tries) {
    fd = ::syscall(SYS_openat2, root.get(), path.c_str(), &how, sizeof(how));
    if (fd >= 0 || errno != EAGAIN) break;
  }
  return UniqueFd(static_cast<int>(fd));
}

Result<UniqueFd> OpenByName(const std::string& directory) {
  UniqueFd fd(::open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return ErrnoStatus(errno, "open " + directory);
  return fd;
}

}  // namespace

ProjectRoot::ProjectRoot(const std::string& directory, const DirectoryOpener& open)
    : directory_(directory) {
  Result<UniqueFd> opened = open ? open(directory) : OpenByName(directory);
  if (opened.ok()) root_ = *std::move(opened);
}

std::string ProjectRoot::OpenedPath() const {
  return root_ ? "/proc/self/fd/" + std::to_string(root_.get()) : directory_;
}

Result<std::string> ProjectRoot::Check(const std::string& label, const std::string& value,
                                       Wanted wanted) const {
  const auto refuse = [&](const std::string& why) {
    const std::string shown = value.empty() ? "" : ": `" + value + "`";
    return AboutField(label, InvalidArgument(label + " " + why + shown));
  };
  if (value.empty()) return refuse("cannot be empty");
  if (value[0] == '/') {
    return refuse("must be relative to the project root");
  }
  std::string normal;
  for (size_t at = 0; at <= value.size();) {
    const size_t end = std::min(value.find('/', at), value.size());
    const std::string part = value.substr(at, end - at);
    at = end + 1;
    if (part == "..") {
      return refuse("must stay inside the project root");
    }
    if (part.empty() || part == ".") continue;
    normal += (normal.empty() ? "" : "/") + part;
  }
  if (normal.empty()) normal = ".";

  const UniqueFd found = OpenBelow(root_, normal, O_PATH);
  if (!found && errno == EXDEV) {
    return refuse("must stay inside the project root");
  }
  if (!found && errno != ENOENT && errno != ENOTDIR && errno != EBADF) {
    return refuse("cannot be opened (" + ErrnoStatus(errno, "openat2").message() + ")");
  }
  struct stat status = {};
  const bool known = found && ::fstat(found.get(), &status) == 0;
  if (!known) return refuse("does not exist");
  if (wanted == Wanted::kFile && !S_ISREG(status.st_mode)) {
    return refuse(std::string("must be a file, not ") + FileKind(status.st_mode));
  }
  return normal;
}

bool ProjectRoot::Has(const std::string& name) const {
  struct stat status = {};
  return root_ && ::fstatat(root_.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
}

Result<std::string> ProjectRoot::Read(const std::string& value) const {
  const UniqueFd fd = OpenBelow(root_, value, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  struct stat status = {};
  if (!fd && (errno == ENOENT || errno == EXDEV || errno == EBADF)) {
    return NotFound("open " + value + ": no longer in the project root");
  }
  if (!fd || ::fstat(fd.get(), &status) != 0) return ErrnoStatus(errno, "open " + value);
  if (!S_ISREG(status.st_mode)) {
    return InvalidArgument("open " + value + ": it is " + FileKind(status.st_mode) +
                           ", not a regular file");
  }

  std::string content(kMaxFileBytes + 1, '\0');
  size_t size = 0;
  while (size < content.size()) {
    const ssize_t n = ::read(fd.get(), content.data() + size, content.size() - size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return ErrnoStatus(errno, "read " + value);
    if (n == 0) break;
    size += static_cast<size_t>(n);
  }
  if (size > kMaxFileBytes) {
    return ResourceExhausted("read " + value + ": larger than " + std::to_string(kMaxFileBytes) +
                             " bytes");
  }
  content.resize(size);
  return content;
}

}  // namespace odyssey::dialect
