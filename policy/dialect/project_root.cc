#include "policy/dialect/project_root.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <memory>
#include <vector>

#include "common/os/regular_file.h"
#include "common/os/unique_fd.h"
#include "policy/dialect/bundle.h"
#include "policy/dialect/path_text.h"

namespace odyssey::dialect {
namespace {

// "" if the path does not exist.
std::string Canonical(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> resolved(::realpath(path.c_str(), nullptr),
                                                             &std::free);
  return resolved == nullptr ? "" : resolved.get();
}

// The path was resolved before: a symbolic link in it now means that somebody changed it.
UniqueFd OpenResolved(const std::string& path) {
  open_how how = {};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  how.resolve = RESOLVE_NO_SYMLINKS;
  return UniqueFd(
      static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof(how))));
}

}  // namespace

ProjectRoot::ProjectRoot(const std::string& directory)
    : directory_(directory), canonical_(Canonical(directory)) {}

Result<std::string> ProjectRoot::Check(const std::string& label, const std::string& value,
                                       Wanted wanted) const {
  const std::string shown = ": `" + value + "`";
  if (value.empty()) return InvalidArgument(label + " cannot be empty");
  if (value[0] == '/') {
    return InvalidArgument(label + " must be relative to the project root" + shown);
  }
  std::string normal;
  for (size_t at = 0; at <= value.size();) {
    const size_t end = std::min(value.find('/', at), value.size());
    const std::string part = value.substr(at, end - at);
    at = end + 1;
    if (part == "..") {
      return InvalidArgument(label + " must stay inside the project root" + shown);
    }
    if (part.empty() || part == ".") continue;
    normal += (normal.empty() ? "" : "/") + part;
  }
  if (normal.empty()) normal = ".";

  const std::string resolved = canonical_.empty() ? "" : Canonical(canonical_ + "/" + normal);
  if (resolved.empty()) return InvalidArgument(label + " does not exist" + shown);
  if (!IsAtOrBelow(resolved, canonical_)) {
    return InvalidArgument(label + " must stay inside the project root" + shown);
  }
  struct stat status = {};
  const bool known = ::lstat(resolved.c_str(), &status) == 0;
  if (wanted == Wanted::kFile && !(known && S_ISREG(status.st_mode))) {
    const std::string kind = known ? std::string(", not ") + FileKind(status.st_mode) : "";
    return InvalidArgument(label + " must be a file" + kind + shown);
  }
  return normal;
}

bool ProjectRoot::Has(const std::string& name) const {
  struct stat status = {};
  return !canonical_.empty() && ::lstat((canonical_ + "/" + name).c_str(), &status) == 0;
}

Result<std::string> ProjectRoot::Read(const std::string& value) const {
  const std::string path = Canonical(canonical_ + "/" + value);
  if (canonical_.empty() || path.empty() || !IsAtOrBelow(path, canonical_)) {
    return NotFound("open " + value + ": no longer in the project root");
  }
  const UniqueFd fd = OpenResolved(path);
  struct stat status = {};
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
