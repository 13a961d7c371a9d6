#ifndef ODYSSEY_POLICY_COMPILE_GUARDS_H_
#define ODYSSEY_POLICY_COMPILE_GUARDS_H_

// The guards of a cell: with `deny` each host tree has one, which refuses the names.

#include <vector>

#include "common/base/status.h"
#include "policy/compile/compile.h"
#include "policy/model/request.h"

namespace odyssey::compile {

// Adds the guards to the confinement and their lines to the explanation, and the FUSE device to the
// plan. INVALID_ARGUMENT naming deny[i].
Status AddGuards(const policy::SandboxRequest& request, Compiled* out);

}  // namespace odyssey::compile

#endif  // ODYSSEY_POLICY_COMPILE_GUARDS_H_
