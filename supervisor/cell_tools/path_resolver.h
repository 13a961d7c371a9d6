#ifndef ODYSSEY_SUPERVISOR_CELL_TOOLS_PATH_RESOLVER_H_
#define ODYSSEY_SUPERVISOR_CELL_TOOLS_PATH_RESOLVER_H_

// From a path that a model wrote to a descriptor that is certainly below one of the visible roots.
// The kernel does the resolution (openat2 with RESOLVE_BENEATH), so a directory that is swapped for
// a symbolic link meanwhile cannot lead out. Mounts below a root are crossed.
//
// What a client sees of a refusal:
//   INVALID_ARGUMENT   empty, too long, or with a NUL byte
//   PERMISSION_DENIED  "access denied: path traversal is not allowed: P"   a ".." component
//                      "path P is outside the visible workspace"           absolute, below no root
//                      "sandbox policy blocks Read|Write access to P"      a link out of the roots,
//                      or
//                                                                          the kernel refused
//   NOT_FOUND          no such file

#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/os/unique_fd.h"

namespace odyssey::cell_tools {

// For the wording of a refusal only: what the kernel checks is in the open flags.
enum class Access { kRead, kWrite };

// A root that requests may reach: a directory, or one file (a mounted one).
struct Root {
  std::string path;  // absolute, normalised
  UniqueFd fd;       // O_PATH: the directory, or the parent directory of the file
  std::string name;  // empty for a directory, else the file's name in `fd`
};

// A path after the lexical checks.
struct VisiblePath {
  std::string given;     // as the request spelled it
  std::string absolute;  // in the cell, without ".", ".." and empty components
  bool relative = false;
};

// The directory that holds a file, and the file's name in it.
struct Parent {
  UniqueFd directory;  // O_PATH
  std::string name;
  std::string absolute;  // of the file
};

enum class MissingParents { kError, kCreate };

class PathResolver final {
 public:
  // `roots` are absolute; the first is the workspace, which relative paths start from and which
  // must be a directory. Each must exist.
  static Result<PathResolver> Create(const std::vector<std::string>& roots);

  const std::string& workspace() const { return roots_.front().path; }

  // Lexical checks only. The empty path is an error here: LS replaces it by "." first.
  Result<VisiblePath> Parse(std::string_view path) const;

  // Opens what `path` names, following links that stay within the roots. O_CLOEXEC, O_NONBLOCK and
  // O_NOCTTY are added, so that no FIFO or device blocks the caller, who checks the file's type.
  Result<UniqueFd> Open(const VisiblePath& path, int flags, Access access) const;

  // Opens the directory of the last component; kCreate makes missing ones (0755).
  Result<Parent> OpenParent(const VisiblePath& path, MissingParents missing) const;

  // `path` with every symbolic link replaced by what it names, the last one too; components that do
  // not exist are kept. Only a hint by the time it returns: open the result with OpenParent or
  // Open.
  Result<VisiblePath> FollowLinks(const VisiblePath& path, Access access) const;

 private:
  explicit PathResolver(std::vector<Root> roots) : roots_(std::move(roots)) {}

  const Root* RootOf(std::string_view absolute) const;
  bool IsAboveARoot(std::string_view absolute) const;
  int OpenBeneath(std::string_view absolute, int flags, uint64_t resolve) const;
  Result<UniqueFd> OpenDirectory(const VisiblePath& path, MissingParents missing) const;

  std::vector<Root> roots_;
};

// EACCES, EPERM and EROFS are the policy's; everything else is "<verb> <path>: <cause>".
Status AccessError(int error_number, Access access, std::string_view absolute);

}  // namespace odyssey::cell_tools

#endif  // ODYSSEY_SUPERVISOR_CELL_TOOLS_PATH_RESOLVER_H_
