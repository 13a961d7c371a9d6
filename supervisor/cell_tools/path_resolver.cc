#include "supervisor/cell_tools/path_resolver.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "supervisor/cell_tools/path_walk.h"

namespace odyssey::cell_tools {
namespace {

constexpr int kMaxRetries = 64;  // of a path whose end is swapped for a link each time
constexpr int kSafeFlags = O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;

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

// A path that must have no link has one.
Status LeadsElsewhere(const PathResolver& resolver, VisiblePath path) {
  path.no_links = false;
  ODY_ASSIGN_OR_RETURN(const Location end,
                       resolver.Locate(path, Access::kRead, MissingParents::kName));
  return Status(Code::kAborted, "path `" + path.given + "` leads to " + end.absolute)
      .With({.value = end.absolute});
}

}  // namespace

Status AccessError(int error_number, Access access, std::string_view absolute) {
  switch (error_number) {
    case EACCES:
    case EPERM:
    case EROFS:
      return Blocked(access, absolute);
    case ENXIO:  // of a socket
      return FailedPrecondition("path `" + std::string(absolute) + "` is not a regular file");
    default:
      return ErrnoStatus(error_number,
                         (access == Access::kRead ? "read " : "write ") + std::string(absolute));
  }
}

Result<PathResolver> PathResolver::Create(const std::vector<cell::ToolRoot>& roots) {
  std::vector<Root> opened;
  for (const cell::ToolRoot& asked : roots) {
    const std::string& path = asked.path;
    if (path.size() < 2 || path[0] != '/' || path.back() == '/') {
      return InvalidArgument("root \"" + path +
                             "\": must be an absolute path below /, without a trailing slash");
    }
    ODY_ASSIGN_OR_RETURN(Root root, OpenRoot(path));
    root.limits = asked;
    opened.push_back(std::move(root));
  }
  if (opened.empty() || !opened.front().name.empty()) {
    return InvalidArgument("the first root must be the workspace, a directory");
  }
  return PathResolver(std::move(opened));
}

Result<VisiblePath> PathResolver::Parse(std::string_view path, bool no_links) const {
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
  out.no_links = no_links;
  out.relative = path[0] != '/';
  if (out.relative) out.absolute = roots_.front().path;
  for (PathWalk words{std::string(path)}; !words.AtEnd();) {
    const std::string component = words.TakeComponent();
    if (component == ".") continue;
    if (component == "..") {
      return PermissionDenied("access denied: path traversal is not allowed: " + out.given);
    }
    out.absolute += "/" + component;
  }
  if (!IsBelowARoot(out.absolute)) {
    return PermissionDenied("path " + out.given + " is outside the visible workspace");
  }
  return out;
}

const Root* PathResolver::FindRoot(std::string_view absolute) const {
  for (const Root& root : roots_) {
    if (root.path == absolute) return &root;
  }
  return nullptr;
}

bool PathResolver::IsBelowARoot(std::string_view absolute) const {
  return std::any_of(roots_.begin(), roots_.end(),
                     [&](const Root& root) { return IsWithin(absolute, root.path); });
}

bool PathResolver::IsAboveARoot(std::string_view absolute) const {
  return std::any_of(roots_.begin(), roots_.end(),
                     [&](const Root& root) { return IsWithin(root.path, absolute); });
}

const cell::ToolRoot& PathResolver::LimitsAt(std::string_view absolute) const {
  const Root* best = nullptr;
  for (const Root& root : roots_) {
    const bool inner = best == nullptr || root.path.size() > best->path.size();
    if (inner && IsWithin(absolute, root.path)) best = &root;
  }
  static const cell::ToolRoot kNone;  // a walk ends below a root
  return best == nullptr ? kNone : best->limits;
}

Result<Location> PathResolver::Locate(const VisiblePath& path, Access access,
                                      MissingParents missing) const {
  PathWalk walk(path.absolute);
  for (;;) {
    const std::string name = walk.TakeComponent();
    if (name == ".") continue;
    if (name == "..") {
      walk.GoUp();
      continue;
    }
    if (name.empty()) {
      if (walk.has_directory()) return walk.Finish(".");
      return Blocked(access, walk.at().empty() ? "/" : walk.at());
    }
    const std::string next = walk.at() + "/" + name;
    if (const Root* root = FindRoot(next); root != nullptr) {
      if (!walk.EnterRoot(*root)) return AccessError(errno, access, next);
      if (root->name.empty()) continue;
      return Location{walk.Finish(root->name).directory, root->name, next};
    }
    if (!walk.has_directory()) {  // not yet below a root
      if (!IsAboveARoot(next)) return Blocked(access, next + walk.rest());
      walk.PassThrough(next);
      continue;
    }
    bool is_link = false;
    ODY_RETURN_IF_ERROR(walk.FollowLink(name, access, &is_link));
    if (is_link && path.no_links) return LeadsElsewhere(*this, path);
    if (is_link) continue;
    if (walk.AtEnd()) return walk.Finish(name);
    const Status entered = walk.EnterDirectory(name, access, missing);
    const bool absent = entered.code() == Code::kNotFound;
    if (absent && missing == MissingParents::kName) return walk.Finish(name + walk.rest());
    ODY_RETURN_IF_ERROR(entered);
  }
}

Result<OpenedPath> PathResolver::Open(const VisiblePath& path, int flags, Access access) const {
  for (int i = 0; i < kMaxRetries; ++i) {
    ODY_ASSIGN_OR_RETURN(Location at, Locate(path, access, MissingParents::kError));
    UniqueFd fd(openat(at.directory.get(), at.name.c_str(), flags | kSafeFlags));
    if (fd) return OpenedPath{std::move(fd), std::move(at.absolute)};
    // ELOOP: it became a link since. Again, to follow it.
    if (errno != ELOOP) return AccessError(errno, access, at.absolute);
  }
  return AccessError(ELOOP, access, path.absolute);
}

}  // namespace odyssey::cell_tools
