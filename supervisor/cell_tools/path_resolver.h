#ifndef ODYSSEY_SUPERVISOR_CELL_TOOLS_PATH_RESOLVER_H_
#define ODYSSEY_SUPERVISOR_CELL_TOOLS_PATH_RESOLVER_H_

// From a path that a model wrote to a descriptor that is certainly below one of the visible roots.
// The path is walked here, a component at a time, each opened relative to the one before with
// O_NOFOLLOW; a symbolic link is read and its text walked in turn. The kernel never follows a link
// for us, so a directory that is swapped for one meanwhile cannot lead out. Not
// openat2(RESOLVE_BENEATH), which says the same in one call: a cell's filter answers it with
// ENOSYS, since its mode bits cannot be judged, and this runs under that very filter. Mounts below
// a root are crossed.
//
// What a client sees of a refusal:
//   INVALID_ARGUMENT   empty, too long, or with a NUL byte
//   PERMISSION_DENIED  "access denied: path traversal is not allowed: P"   a ".." component
//                      "path P is outside the visible workspace"           absolute, below no root
//                      "sandbox policy blocks Read|Write access to P"      a link out of the roots,
//                      or
//                                                                          the kernel refused
//   NOT_FOUND          no such file
//   ABORTED            "path `P` leads to Q"                                a link, which the path
//                                                                          must not have; Q is the
//                                                                          detail's value

#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/os/unique_fd.h"
#include "supervisor/wire/cell_wire.h"

namespace odyssey::cell_tools {

// For the wording of a refusal only: what the kernel checks is in the open flags.
enum class Access { kRead, kWrite };

// A root that requests may reach: a directory, or one file (a mounted one).
struct Root {
  std::string path;       // absolute, normalised
  UniqueFd fd;            // O_PATH: the directory, or the parent directory of the file
  std::string name;       // empty for a directory, else the file's name in `fd`
  cell::ToolRoot limits;  // what was asked for
};

// A path after the lexical checks.
struct VisiblePath {
  std::string given;     // as the request spelled it
  std::string absolute;  // in the cell, without ".", ".." and empty components
  bool relative = false;
  bool no_links = false;  // a symbolic link in it, in any component, is not followed
};

// Where a path leads: a directory, and in it a name that was no symbolic link when it was looked
// at. There may be nothing under that name yet.
struct Location {
  UniqueFd directory;  // O_PATH
  std::string name;    // "." if the path leads to the directory itself
  std::string absolute;
};

struct OpenedPath {
  UniqueFd fd;
  std::string absolute;  // where the path led
};

// kName: the location is named by its nearest directory that is there, and the rest of the path.
enum class MissingParents { kError, kCreate, kName };

class PathResolver final {
 public:
  // `roots` are absolute; the first is the workspace, which relative paths start from and which
  // must be a directory. Each must exist.
  static Result<PathResolver> Create(const std::vector<cell::ToolRoot>& roots);

  const std::string& workspace() const { return roots_.front().path; }

  // Lexical checks only. The empty path is an error here: LS replaces it by "." first.
  Result<VisiblePath> Parse(std::string_view path, bool no_links = false) const;

  // Follows links that stay within the roots, in the last component too. kCreate makes missing
  // directories on the way (0755). Use the name with O_NOFOLLOW or its like.
  Result<Location> Locate(const VisiblePath& path, Access access, MissingParents missing) const;

  // Opens what `path` names. O_NOFOLLOW, O_CLOEXEC, O_NONBLOCK and O_NOCTTY are added, so that no
  // FIFO or device blocks the caller, which checks the file's type.
  Result<OpenedPath> Open(const VisiblePath& path, int flags, Access access) const;

  // What the innermost root around `absolute`, an end of a walk, says about the files in it.
  const cell::ToolRoot& LimitsAt(std::string_view absolute) const;

 private:
  explicit PathResolver(std::vector<Root> roots) : roots_(std::move(roots)) {}

  const Root* FindRoot(std::string_view absolute) const;
  bool IsBelowARoot(std::string_view absolute) const;
  bool IsAboveARoot(std::string_view absolute) const;

  std::vector<Root> roots_;
};

// EACCES, EPERM and EROFS are the policy's; everything else is "<verb> <path>: <cause>".
Status AccessError(int error_number, Access access, std::string_view absolute);

}  // namespace odyssey::cell_tools

#endif  // ODYSSEY_SUPERVISOR_CELL_TOOLS_PATH_RESOLVER_H_
