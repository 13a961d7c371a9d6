#ifndef ODYSSEY_AGENTD_SESSION_WIDEN_H_
#define ODYSSEY_AGENTD_SESSION_WIDEN_H_

// A session's request with what approvals add to it. Pure. Limits of the requests are those in
// force: 0 is unlimited.

#include "common/base/status.h"
#include "odyssey/agent/v1/event.pb.h"
#include "policy/model/request.h"

namespace odyssey::session {

// Takes nothing away: each addition gives more or changes nothing. A mount is at the place that a
// bundle's own would have.
policy::SandboxRequest Widen(policy::SandboxRequest request, const agent::v1::Grants& grants);

// Those of `grants` that the request does not give already; limits with what is in force.
Result<agent::v1::Grants> Beyond(const policy::SandboxRequest& request,
                                 const agent::v1::Grants& grants);

}  // namespace odyssey::session

#endif  // ODYSSEY_AGENTD_SESSION_WIDEN_H_
