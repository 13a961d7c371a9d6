#ifndef ODYSSEY_CTL_PLANTED_LINK_H_
#define ODYSSEY_CTL_PLANTED_LINK_H_

#include <string>

#include "common/base/status.h"

namespace odyssey::ctl {

// The first symbolic link on the way to `path`, itself included, that whoever may write where it
// lies could have made: a command in an earlier cell, for one. "" if there is none, or if the path
// cannot be looked at. Links in /, /home and /var and below /usr are the system's: nobody is given
// those to write. A relative path begins at the working directory, whose own name does not count.
std::string PlantedLink(const std::string& path);

// Absolute, without symbolic links. NOT_FOUND: nothing is there.
Result<std::string> ResolvePath(const std::string& path);
// The same, for what is shown to a cell or read or written for it: FAILED_PRECONDITION names a
// planted link, and what to name instead. Open what it returns with OpenHostPath, which follows
// none that has come meanwhile.
Result<std::string> ResolveUnplanted(const std::string& path);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_PLANTED_LINK_H_
