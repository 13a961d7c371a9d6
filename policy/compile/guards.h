#ifndef ODYSSEY_POLICY_COMPILE_GUARDS_H_
#define ODYSSEY_POLICY_COMPILE_GUARDS_H_

// `deny`: which host trees of a cell get a guard, and what the guard refuses.

#include <vector>

#include "common/base/status.h"
#include "policy/compile/compile.h"
#include "policy/model/request.h"

namespace odyssey::compile {

// Appends the guards to the confinement and their lines to the explanation; nothing without `deny`.
// INVALID_ARGUMENT naming deny[i].
Status AddGuards(const policy::SandboxRequest& request, Compiled* out);

}  // namespace odyssey::compile

#endif  // ODYSSEY_POLICY_COMPILE_GUARDS_H_
