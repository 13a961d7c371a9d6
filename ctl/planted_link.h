#ifndef ODYSSEY_CTL_PLANTED_LINK_H_
#define ODYSSEY_CTL_PLANTED_LINK_H_

#include <string>

namespace odyssey::ctl {

// The first symbolic link on the way to `path`, itself included, that whoever may write where it
// lies could have made: a command in an earlier cell, for one. "" if there is none, or if the path
// cannot be looked at. Links in /, /home and /var and below /usr are the system's: nobody is given
// those to write. A relative path begins at the working directory, whose own name does not count.
std::string PlantedLink(const std::string& path);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_PLANTED_LINK_H_
