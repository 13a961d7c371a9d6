#ifndef ODYSSEY_POLICY_EGRESS_GRAPHQL_H_
#define ODYSSEY_POLICY_EGRESS_GRAPHQL_H_

// Operations of GraphQL: over HTTP (GET, or POST of application/json or application/graphql), and
// in the messages of graphql-transport-ws and graphql-ws.

#include "policy/egress/verdict.h"

namespace odyssey::egress {

// Every root field of every operation of a batch must be allowed, and none denied.
Verdict JudgeGraphQl(const std::vector<Pair>& pairs, const Request& request);

// Some rule is about operations, so that messages are read as GraphQL's.
bool HasOperationRules(const std::vector<Pair>& pairs);

// Messages that start no operation (connection_init, ping, complete…) are allowed.
Verdict JudgeGraphQlMessage(const std::vector<Pair>& pairs, const Request& upgrade,
                            const std::string& text);

}  // namespace odyssey::egress

#endif  // ODYSSEY_POLICY_EGRESS_GRAPHQL_H_
