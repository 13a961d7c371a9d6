#ifndef ODYSSEY_SUPERVISOR_CELL_TOOLS_PATH_WALK_H_
#define ODYSSEY_SUPERVISOR_CELL_TOOLS_PATH_WALK_H_

// The steps of resolving a path by hand. Which step comes next is PathResolver::Locate's to say.

#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/os/unique_fd.h"
#include "supervisor/cell_tools/path_resolver.h"

namespace odyssey::cell_tools {

// How far a walk has come: `at` is resolved and free of links, `rest` is still to do.
class PathWalk final {
 public:
  explicit PathWalk(std::string absolute) : rest_(std::move(absolute)) {}

  // Open on `at`; nothing above the roots.
  bool has_directory() const { return static_cast<bool>(directory_); }
  const std::string& at() const { return at_; }
  const std::string& rest() const { return rest_; }
  // Nothing but slashes is left.
  bool AtEnd() const { return rest_.find_first_not_of('/') == std::string::npos; }

  // Takes the next component off `rest`; empty at the end.
  std::string TakeComponent();
  // "..": starts over at the parent of `at`, by its name, since the parent of the directory itself
  // may be anywhere by now.
  void GoUp();
  // Goes on to a directory above the roots, which is not opened.
  void PassThrough(std::string absolute) { at_ = std::move(absolute); }
  // False with errno. ENOTDIR for a root that is a file.
  bool EnterRoot(const Root& root);
  // If `name` is a link: puts its text before `rest` and sets `*is_link`.
  Status FollowLink(const std::string& name, Access access, bool* is_link);
  // `name` is no link, or was none: enters it. If it became one, it is left to be taken again.
  Status EnterDirectory(const std::string& name, Access access, MissingParents missing);

  // Ends the walk here.
  Location Finish(const std::string& name);

 private:
  Status CountLink(Access access, const std::string& absolute);

  UniqueFd directory_;
  std::string at_;
  std::string rest_;
  int links_ = 0;
};

}  // namespace odyssey::cell_tools

#endif  // ODYSSEY_SUPERVISOR_CELL_TOOLS_PATH_WALK_H_
