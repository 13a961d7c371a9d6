#ifndef ODYSSEY_AGENTD_SESSION_OPERATOR_POLICY_H_
#define ODYSSEY_AGENTD_SESSION_OPERATOR_POLICY_H_

// A policy of an operator's own for a command in a session's directories.

#include <cstdint>
#include <map>
#include <string>

#include "agentd/session/turn_setup.h"
#include "common/base/status.h"
#include "policy/model/request.h"

namespace odyssey::session {

struct OperatorPolicy {
  policy::SandboxRequest request;  // without a workspace: that is the session's
  uint32_t owner_uid = 0;          // the operator, whose bounds apply
};

// The setup of the session's turns, but under that policy and for that user: the same key, and so
// the same directories. Pure. FAILED_PRECONDITION: the session runs on the host, or its workspace
// is not to be written. INVALID_ARGUMENT: the policy asks for the host.
Result<TurnSetup> Under(const OperatorPolicy& policy, const TurnSetup& session);

// The values of the policy's variables, but for those that every command inherits.
std::map<std::string, std::string> SecretsOf(const OperatorPolicy& policy);

}  // namespace odyssey::session

#endif  // ODYSSEY_AGENTD_SESSION_OPERATOR_POLICY_H_
