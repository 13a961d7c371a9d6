#ifndef ODYSSEY_POLICY_EGRESS_RPC_H_
#define ODYSSEY_POLICY_EGRESS_RPC_H_

// JSON-RPC over HTTP, and MCP, which is JSON-RPC with methods of its own.

#include "policy/egress/verdict.h"

namespace odyssey::egress {

// A batch is allowed if each of its members is. Responses of the client are refused.
Verdict JudgeJsonRpc(const std::vector<Pair>& pairs, const Request& request);

// One message, no batch; Mcp-Method and Mcp-Name say the same as it. A GET opens the stream of the
// server's messages, which is not inspected.
Verdict JudgeMcp(const std::vector<Pair>& pairs, const Request& request);

}  // namespace odyssey::egress

#endif  // ODYSSEY_POLICY_EGRESS_RPC_H_
