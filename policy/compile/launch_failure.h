#ifndef ODYSSEY_POLICY_COMPILE_LAUNCH_FAILURE_H_
#define ODYSSEY_POLICY_COMPILE_LAUNCH_FAILURE_H_

#include <cstdint>

#include "common/base/status.h"
#include "policy/model/request.h"
#include "policy/plan/plan.h"

namespace odyssey::compile {

// Why root could not make the cell, led back to the field of the request. Root knows the entries of
// a plan (detail().item is the one that failed) and no request: "open /srv/x: No such file or
// directory" becomes "mounts[2].source: open /srv/x: …"; cell-init names "workspace" itself. A
// failure of no entry, or of one that the request did not ask for, stays as it is. Root opens as
// `owner` would, so what is denied is denied to that uid. Pure.
Status NameField(const policy::SandboxRequest& request, const plan::Plan& plan, uint32_t owner,
                 const Status& failure);

}  // namespace odyssey::compile

#endif  // ODYSSEY_POLICY_COMPILE_LAUNCH_FAILURE_H_
