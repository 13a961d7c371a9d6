#include "supervisor/cell_tools/path_resolver.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace odyssey::cell_tools {
namespace {

constexpr int kMaxLinks = 40;    // as the kernel's MAXSYMLINKS
constexpr int kMaxRetries = 64;  // a resolution that raced with a rename is tried again
// openat2 refuses the others beside O_PATH, which opens nothing that could block.
constexpr int kSafePathFlags = O_CLOEXEC;
constexpr int kSafeFlags = O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
constexpr mode_t kDirectoryMode = 0755;

// glibc has no wrapper. Answers a descriptor, or -1 with errno.
int OpenAt2(int directory, const char* path, int flags, uint64_t resolve) {
  open_how how{};
  how.flags = static_cast<uint64_t>(flags);
  how.resolve = resolve;
  return static_cast<int>(syscall(SYS_openat2, directory, path, &how, sizeof(how)));
}

// Takes the first component off `rest`; empty when there is none left.
std::string TakeComponent(std::string* rest) {
  const size_t begin = std::min(rest->find_first_not_of('/'), rest->size());
  const size_t end = std::min(rest->find('/', begin), rest->size());
  std::string component = rest->substr(begin, end - begin);
  rest->erase(0, end);
  return component;
}

// True if `path` is `directory` or below it.
bool IsWithin(std::string_view path, std::string_view directory) {
  return path.substr(0, directory.size()) == directory &&
         (path.size() == directory.size() || path[directory.size()] == '/');
}

std::string_view DirectoryOf(std::string_view absolute) {
  return absolute.substr(0, absolute.rfind('/'));
}

Result<Root> OpenRoot(const std::string& path) {
  Root root;
  root.path = path;
  root.fd.reset(open(path.c_str(), O_PATH | O_CLOEXEC));
  if (!root.fd) return ErrnoStatus(errno, "open root " + path);
  struct stat info;
  if (fstat(root.fd.get(), &info) != 0) return ErrnoStatus(errno, "stat root " + path);
  if (S_ISDIR(info.st_mode)) return root;

  const std::string parent(DirectoryOf(path));
  root.name = path.substr(parent.size() + 1);
  root.fd.reset(open((parent + "/").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!root.fd) return ErrnoStatus(errno, "open " + parent);
  return root;
}

Status Blocked(Access access, std::string_view absolute) {
  return PermissionDenied(std::string("sandbox policy blocks ") +
                          (access == Access::kRead ? "Read" : "Write") + " access to " +
                          std::string(absolute));
}

}  // namespace

Status AccessError(int error_number, Access access, std::string_view absolute) {
  switch (error_number) {
    case EACCES:
    case EPERM:
    case EROFS:
    case EXDEV:
      return Blocked(access, absolute);
    default:
      return ErrnoStatus(error_number,
                         (access == Access::kRead ? "read " : "write ") + std::string(absolute));
  }
}

Result<PathResolver> PathResolver::Create(const std::vector<std::string>& roots) {
  std::vector<Root> opened;
  for (const std::string& path : roots) {
    if (path.size() < 2 || path[0] != '/' || path.back() == '/') {
      return InvalidArgument("root \"" + path +
                             "\": must be an absolute path below /, without a trailing slash");
    }
    ODY_ASSIGN_OR_RETURN(Root root, OpenRoot(path));
    opened.push_back(std::move(root));
  }
  if (opened.empty() || !opened.front().name.empty()) {
    return InvalidArgument("the first root must be the workspace, a directory");
  }
  return PathResolver(std::move(opened));
}

Result<VisiblePath> PathResolver::Parse(std::string_view path) const {
  if (path.empty()) return InvalidArgument("path: must not be empty");
  if (path.size() >= PATH_MAX) {
    return InvalidArgument("path: " + std::to_string(path.size()) + " bytes, at most " +
                           std::to_string(PATH_MAX - 1));
  }
  if (path.find('\0') != std::string_view::npos) {
    return InvalidArgument("path: must not contain a NUL byte");
  }
  VisiblePath out;
  out.given = path;
  out.relative = path[0] != '/';
  if (out.relative) out.absolute = roots_.front().path;
  for (std::string rest(path);;) {
    const std::string component = TakeComponent(&rest);
    if (component.empty()) break;
    if (component == ".") continue;
    if (component == "..") {
      return PermissionDenied("access denied: path traversal is not allowed: " + out.given);
    }
    out.absolute += "/" + component;
  }
  if (RootOf(out.absolute) == nullptr) {
    return PermissionDenied("path " + out.given + " is outside the visible workspace");
  }
  return out;
}

const Root* PathResolver::RootOf(std::string_view absolute) const {
  const Root* deepest = nullptr;
  for (const Root& root : roots_) {
    if (!IsWithin(absolute, root.path)) continue;
    if (deepest == nullptr || root.path.size() > deepest->path.size()) deepest = &root;
  }
  return deepest;
}

bool PathResolver::IsAboveARoot(std::string_view absolute) const {
  return std::any_of(roots_.begin(), roots_.end(),
                     [&](const Root& root) { return IsWithin(root.path, absolute); });
}

// `absolute` is within a root. A descriptor, or -1 with errno.
int PathResolver::OpenBeneath(std::string_view absolute, int flags, uint64_t resolve) const {
  const Root& root = *RootOf(absolute);
  std::string beneath = root.name + std::string(absolute.substr(root.path.size()));
  beneath.erase(0, beneath.find_first_not_of('/'));
  if (beneath.empty()) beneath = ".";
  const uint64_t all = resolve | RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS;
  flags |= (flags & O_PATH) != 0 ? kSafePathFlags : kSafeFlags;
  int fd = -1;
  for (int i = 0; i < kMaxRetries; ++i) {
    fd = OpenAt2(root.fd.get(), beneath.c_str(), flags, all);
    // EAGAIN: something above was renamed while ".." in a link was resolved.
    if (fd >= 0 || (errno != EAGAIN && errno != EINTR)) break;
  }
  return fd;
}

Result<UniqueFd> PathResolver::Open(const VisiblePath& path, int flags, Access access) const {
  UniqueFd fd(OpenBeneath(path.absolute, flags, 0));
  // EXDEV: a link leaves this root, but what it names may be in it (an absolute link), or in
  // another.
  for (int i = 0; !fd && errno == EXDEV && i < kMaxRetries; ++i) {
    ODY_ASSIGN_OR_RETURN(const VisiblePath followed, FollowLinks(path, access));
    fd.reset(OpenBeneath(followed.absolute, flags, RESOLVE_NO_SYMLINKS));
    if (!fd && errno == ELOOP) errno = EXDEV;  // a component became a link since: again
  }
  if (!fd) return AccessError(errno, access, path.absolute);
  return fd;
}

Result<VisiblePath> PathResolver::FollowLinks(const VisiblePath& path, Access access) const {
  std::string resolved;
  std::string rest = path.absolute;
  int links = 0;
  for (;;) {
    const std::string component = TakeComponent(&rest);
    if (component.empty()) break;
    if (component == ".") continue;
    if (component == "..") {
      resolved = DirectoryOf(resolved);
      continue;
    }
    const std::string candidate = resolved + "/" + component;
    const Root* root = RootOf(candidate);
    if (root == nullptr && !IsAboveARoot(candidate)) return Blocked(access, candidate + rest);
    char target[PATH_MAX];
    ssize_t length = -1;
    if (root != nullptr && candidate != root->path) {
      UniqueFd fd(OpenBeneath(candidate, O_PATH | O_NOFOLLOW, RESOLVE_NO_SYMLINKS));
      if (fd) length = readlinkat(fd.get(), "", target, sizeof(target));
    }
    if (length < 0) {  // not a link, or not there: whoever opens the result will say
      resolved = candidate;
      continue;
    }
    if (++links > kMaxLinks) return AccessError(ELOOP, access, path.absolute);
    if (length > 0 && target[0] == '/') resolved.clear();
    rest.insert(0, target, static_cast<size_t>(length));  // `rest` is empty or starts with a slash
  }
  if (RootOf(resolved) == nullptr) return Blocked(access, resolved.empty() ? "/" : resolved);
  return VisiblePath{.given = path.given, .absolute = resolved, .relative = path.relative};
}

Result<UniqueFd> PathResolver::OpenDirectory(const VisiblePath& path,
                                             MissingParents missing) const {
  constexpr int kFlags = O_PATH | O_DIRECTORY;
  Result<UniqueFd> directory = Open(path, kFlags, Access::kWrite);
  if (directory.ok() || directory.status().code() != Code::kNotFound ||
      missing == MissingParents::kError) {
    return directory;
  }
  ODY_ASSIGN_OR_RETURN(const Parent parent, OpenParent(path, missing));
  if (mkdirat(parent.directory.get(), parent.name.c_str(), kDirectoryMode) != 0 &&
      errno != EEXIST) {
    return AccessError(errno, Access::kWrite, path.absolute);
  }
  return Open(path, kFlags, Access::kWrite);
}

Result<Parent> PathResolver::OpenParent(const VisiblePath& path, MissingParents missing) const {
  const Root& root = *RootOf(path.absolute);
  Parent parent;
  parent.absolute = path.absolute;
  if (path.absolute == root.path) {  // a file that is a root: its parent is below no root
    if (root.name.empty()) return FailedPrecondition("path `" + path.given + "` is a directory");
    parent.directory.reset(OpenAt2(root.fd.get(), ".", O_PATH | O_DIRECTORY | O_CLOEXEC, 0));
    if (!parent.directory) return AccessError(errno, Access::kWrite, path.absolute);
    parent.name = root.name;
    return parent;
  }
  const std::string directory(DirectoryOf(path.absolute));
  parent.name = path.absolute.substr(directory.size() + 1);
  ODY_ASSIGN_OR_RETURN(
      parent.directory,
      OpenDirectory({.given = path.given, .absolute = directory, .relative = path.relative},
                    missing));
  return parent;
}

}  // namespace odyssey::cell_tools
