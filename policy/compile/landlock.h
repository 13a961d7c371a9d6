#ifndef ODYSSEY_POLICY_COMPILE_LANDLOCK_H_
#define ODYSSEY_POLICY_COMPILE_LANDLOCK_H_

// Which of Landlock's later rights a policy relies on, and what happens where the kernel lacks one.

#include "common/base/status.h"
#include "policy/compile/compile.h"

namespace odyssey::compile {

// After the plan's entries and the rules: sets the ABI that the confinement needs, and explains it.
// FAILED_PRECONDITION, naming the right, if the kernel lacks one and the policy says
// hard_requirement.
Status AddLandlock(policy::Landlock wanted, const landlock::Support& kernel, Compiled* out);

}  // namespace odyssey::compile

#endif  // ODYSSEY_POLICY_COMPILE_LANDLOCK_H_
