#ifndef ODYSSEY_AGENTD_SANDBOX_FINDING_PROTO_H_
#define ODYSSEY_AGENTD_SANDBOX_FINDING_PROTO_H_

#include "agentd/base/finding.h"
#include "odyssey/supervisor/v1/supervisor.pb.h"

namespace odyssey::sandbox {

// Every field, as it is. A kind that is not known here is "unspecified".
agent::Finding FindingFromProto(const supervisor::v1::Finding& finding);
void ToProto(const agent::Finding& finding, supervisor::v1::Finding* out);

}  // namespace odyssey::sandbox

#endif  // ODYSSEY_AGENTD_SANDBOX_FINDING_PROTO_H_
