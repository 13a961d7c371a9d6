#ifndef ODYSSEY_POLICY_COMPILE_GUARDS_H_
#define ODYSSEY_POLICY_COMPILE_GUARDS_H_

// Which host trees of a cell get a guard, and what the guard refuses: names that are in `deny`, and
// changes in repositories (AddProtection says where those may be).

#include <vector>

#include "common/base/status.h"
#include "policy/compile/compile.h"
#include "policy/model/request.h"

namespace odyssey::compile {

// Makes the guards of the confinement what `deny` needs too, and adds their lines to the
// explanation. INVALID_ARGUMENT naming deny[i].
Status AddGuards(const policy::SandboxRequest& request, Compiled* out);

}  // namespace odyssey::compile

#endif  // ODYSSEY_POLICY_COMPILE_GUARDS_H_
