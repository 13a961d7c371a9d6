#ifndef ODYSSEY_POLICY_LATTICE_LATTICE_H_
#define ODYSSEY_POLICY_LATTICE_LATTICE_H_

// Two requests compared, and the most that both allow: for delegation, grants, and "what does this
// change of a policy give". What is compared, and how, is in rights.h. Pure.

#include <string>

#include "common/base/status.h"
#include "policy/lattice/rights.h"
#include "policy/model/request.h"

namespace odyssey::lattice {

// What `child` asks for, as far as `parent` gives it. Its places in the cell, its values of
// variables and its inner uid are the child's; what cannot be shown where the child wants it is
// shown below /mount/read or /mount/write. INVALID_ARGUMENT for a path that is not normalised.
Result<policy::SandboxRequest> Narrow(const policy::SandboxRequest& parent,
                                      const policy::SandboxRequest& child);

// OK, or PERMISSION_DENIED with the first item of the child that the parent does not give: its key,
// its value and what the parent has. INVALID_ARGUMENT as above.
Status IsWithin(const policy::SandboxRequest& child, const policy::SandboxRequest& parent);

}  // namespace odyssey::lattice

#endif  // ODYSSEY_POLICY_LATTICE_LATTICE_H_
