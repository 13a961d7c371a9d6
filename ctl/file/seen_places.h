#ifndef ODYSSEY_CTL_FILE_SEEN_PLACES_H_
#define ODYSSEY_CTL_FILE_SEEN_PLACES_H_

// What the user of this program sees at the paths of a request: the one thing about a policy that
// the supervisor cannot find out by itself, since its own user may not look there.

#include <map>
#include <string>

#include "policy/answer/answer.h"
#include "policy/ceiling/ceiling.h"
#include "policy/dialect/policy.h"
#include "policy/model/request.h"

namespace odyssey::ctl {

// The workspace, the sources of mounts and the executables with a path, as far as they can be
// looked at; by root also whether `owner` may open them. A workspace or source that is missing is
// left out: it may be there by the time that a cell is made (see DoubtfulPlaces). Called by root it
// gives up the process's supplementary groups.
std::map<std::string, answer::Seen> SeenPlaces(const policy::SandboxRequest& request,
                                               const ceiling::Owner& owner);

// The symbolic links on the way to `path`, absolute, and what each says.
std::map<std::string, std::string> LinksOnTheWay(const std::string& path);

// Warnings, with their lines: workspaces and sources that are missing here, or that this user
// cannot look at. `whole` names the file, for what has no line.
dialect::Problems DoubtfulPlaces(const dialect::Policy& policy, const std::string& whole);

// The warning that only root could look at them as `owner` would.
dialect::Problems DoubtfulReach(const dialect::Policy& policy, const ceiling::Owner& owner,
                                const std::string& whole);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_FILE_SEEN_PLACES_H_
