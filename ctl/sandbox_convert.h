#ifndef ODYSSEY_CTL_SANDBOX_CONVERT_H_
#define ODYSSEY_CTL_SANDBOX_CONVERT_H_

#include "odyssey/policy/v1/policy.pb.h"
#include "policy/model/request.h"

namespace odyssey::ctl {

// The request's fields that travel in Sandbox; `workspace` and `ephemeral` are the RPC's own. Pure.
policy::v1::Sandbox ToProto(const policy::SandboxRequest& request);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_SANDBOX_CONVERT_H_
