#ifndef ODYSSEY_SUPERVISOR_RPC_EGRESS_HEALTH_H_
#define ODYSSEY_SUPERVISOR_RPC_EGRESS_HEALTH_H_

#include <string>

#include "common/base/status.h"
#include "supervisor/rpc/host_facts.h"

namespace odyssey::supervisor {

// Whether odyssey-egress answers on its socket, asked anew. UNAVAILABLE says why it does not.
// Blocks, for at most a second.
Status AskEgress(const std::string& socket_path);

// The feature "egress".
Feature DescribeEgress(const Status& answered);

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_EGRESS_HEALTH_H_
