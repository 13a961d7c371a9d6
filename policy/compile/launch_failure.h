#ifndef ODYSSEY_POLICY_COMPILE_LAUNCH_FAILURE_H_
#define ODYSSEY_POLICY_COMPILE_LAUNCH_FAILURE_H_

#include <cstdint>

#include "common/base/status.h"
#include "policy/model/request.h"

namespace odyssey::compile {

// Why root or cell-init could not make the cell, led back to the field of the request: they know
// paths of a plan, and no request. "open /srv/x: No such file or directory" becomes
// "mounts[2].source: open /srv/x: …"; what names no path of the request stays as it is. Root opens
// as `owner` would, so what is denied is denied to him. Pure.
Status NameField(const policy::SandboxRequest& request, uint32_t owner, const Status& failure);

}  // namespace odyssey::compile

#endif  // ODYSSEY_POLICY_COMPILE_LAUNCH_FAILURE_H_
