#ifndef ODYSSEY_CTL_EXEC_EXEC_IMAGE_H_
#define ODYSSEY_CTL_EXEC_EXEC_IMAGE_H_

// The image of a command's cell: the one that is named, which is pulled where the store has none of
// the name; of a policy in odek's format else that of ./Dockerfile.odek, built, and else the
// operator's default; else none.

#include "ctl/base/console.h"
#include "ctl/policy/exec_options.h"
#include "ctl/policy/policy_asker.h"

namespace odyssey::ctl {

// Asks the user to approve what a project asks for, then pulls or builds the image; the sandbox
// names it then. Returns kExitOk, or what to end with: has reported. Caller must be
// single-threaded.
int PrepareImage(const Console& console, const PolicyAsker& asker, ExecOptions* options);

// For the plan alone: asks nothing, pulls and builds nothing, and warns where the plan is without
// the image.
void UseImageIfBuilt(const Console& console, const PolicyAsker& asker, ExecOptions* options);

// INVALID_ARGUMENT: --image-user has no image to be of.
Status CheckImageUser(const ExecOptions& options);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_EXEC_EXEC_IMAGE_H_
