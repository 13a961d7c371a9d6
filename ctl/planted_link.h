#ifndef ODYSSEY_CTL_PLANTED_LINK_H_
#define ODYSSEY_CTL_PLANTED_LINK_H_

#include <string>

#include "common/base/status.h"
#include "common/os/unique_fd.h"

namespace odyssey::ctl {

// The first symbolic link on the way to `path`, itself included, that whoever may write where it
// lies could have made: a command in an earlier cell, for one. "" if there is none, or if the path
// cannot be looked at. Links in /, /home and /var and below /usr are the system's: nobody is given
// those to write. A relative path begins at the working directory, whose own name does not count.
std::string PlantedLink(const std::string& path);

// Absolute, without symbolic links. NOT_FOUND: nothing is there. For what is shown, not for what is
// opened: use what the other two return for that.
Result<std::string> ResolvePath(const std::string& path);

// A place, and the name by which it was found. The walk that judged the links on the way opened it,
// so nothing can be exchanged between the two.
struct OpenedPath {
  std::string path;  // absolute, without symbolic links
  UniqueFd place;    // O_PATH
};
// For what is read or written for a cell: FAILED_PRECONDITION names a planted link, and what to
// name instead.
Result<OpenedPath> OpenUnplanted(const std::string& path);
// How far a path leads, by one walk.
struct WalkedPath {
  bool exists = false;
  std::string
      path;  // what does not exist is appended as it is given; the path itself on other errors
  std::string planted;  // as PlantedLink
};
WalkedPath WalkAlong(const std::string& path);

// For what the supervisor is asked to show to a cell, by name: it opens that without following
// links, so a link that has come meanwhile is refused there.
Result<std::string> ResolveUnplanted(const std::string& path);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_PLANTED_LINK_H_
