#ifndef ODYSSEY_AGENTD_SESSION_CELL_POLICY_H_
#define ODYSSEY_AGENTD_SESSION_CELL_POLICY_H_

// What the policy of a session's cell comes to, value by value, and where each value is from.

#include <string>
#include <vector>

#include "agentd/session/runtime.h"
#include "agentd/session/session_grants.h"
#include "agentd/session/session_record.h"
#include "agentd/session/turn_setup.h"
#include "common/base/status.h"
#include "odyssey/agent/v1/cell.pb.h"
#include "policy/egress/reach.h"
#include "policy/rules/tool_rules.h"

namespace odyssey::session {

struct CellPolicy {
  TurnSetup setup;        // what the session's next command runs with
  policy::Limits limits;  // in force
  std::vector<agent::v1::PolicyValue> values;
};

// `setup`: of the record, without what approvals have added, which is `granted`. Reads the
// operator's ceiling.
Result<CellPolicy> DescribePolicy(const SessionRecord& record, const TurnSetup& setup,
                                  const std::vector<SessionGrant>& granted, const Runtime& runtime);

// Of a cell whose policy has endpoints: do they, and then the agent's rules of Network, let a
// command reach it.
rules::Decision DecideDestination(const TurnSetup& setup, const egress::Destination& destination);

// What the rules of the agent, and of those that called it, make of a command line of Bash.
rules::Decision DecideCommand(const TurnSetup& setup, const std::string& command);

}  // namespace odyssey::session

#endif  // ODYSSEY_AGENTD_SESSION_CELL_POLICY_H_
