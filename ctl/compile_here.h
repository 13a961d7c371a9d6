#ifndef ODYSSEY_CTL_COMPILE_HERE_H_
#define ODYSSEY_CTL_COMPILE_HERE_H_

// What a request becomes without asking a daemon: the same compiler over the same facts, so that
// what is said beforehand is what the supervisor says.

#include <string>

#include "common/base/status.h"
#include "ctl/ceiling_view.h"
#include "ctl/locations.h"
#include "policy/compile/compile.h"
#include "policy/model/request.h"

namespace odyssey::ctl {

// On this host, for the user of the ceiling, as the supervisor of these locations would compile it;
// what the ceiling refuses is for ceiling::Check. PERMISSION_DENIED also for what root would not
// show him, since it is another's (own_places.h). What does not exist yet is no error, as it is
// none of the compiler's: see DoubtfulPlaces.
Result<compile::Compiled> CompileHere(policy::SandboxRequest request, const CeilingView& ceiling,
                                      const Locations& locations);

// Where a session's copy of a bundle is, on a host of which nothing is known.
inline constexpr char kAnyBundleStore[] = "/.bundles";
inline constexpr char kAnyBundleCopy[] = "/.bundles/copy";

// What no host and no user would get.
Status CheckAnywhere(policy::SandboxRequest request);

// Warnings, with their lines: the policy may be for another host. `whole` names the file, for what
// has no line. Places that this host does not have, or does not let whoever runs this look at:
dialect::Problems DoubtfulPlaces(const dialect::Policy& policy, const std::string& whole);
// Programs that it does not have.
dialect::Problems MissingPrograms(const dialect::Policy& policy, const std::string& whole);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_COMPILE_HERE_H_
