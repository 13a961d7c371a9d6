#ifndef ODYSSEY_AGENTD_SANDBOX_DENIAL_PROTO_H_
#define ODYSSEY_AGENTD_SANDBOX_DENIAL_PROTO_H_

#include "agentd/base/denial.h"
#include "odyssey/supervisor/v1/supervisor.pb.h"

namespace odyssey::sandbox {

// Every field of the supervisor's record, as it is.
inline agent::Denial DenialFromProto(const supervisor::v1::Denial& denial) {
  return {denial.kind(),       denial.resource(), denial.access(), denial.rule(),
          denial.grant(),      denial.process(),  denial.source(), denial.exec_id(),
          denial.session_id(), denial.verdict(),  denial.count()};
}

}  // namespace odyssey::sandbox

#endif  // ODYSSEY_AGENTD_SANDBOX_DENIAL_PROTO_H_
