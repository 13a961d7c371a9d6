#ifndef ODYSSEY_CTL_APPROVAL_APPROVAL_CALL_H_
#define ODYSSEY_CTL_APPROVAL_APPROVAL_CALL_H_

#include <optional>

#include "ctl/approval/approval_prompt.h"
#include "ctl/base/console.h"
#include "ctl/base/locations.h"
#include "odyssey/agent/v1/approval.pb.h"
#include "odyssey/agent/v1/event.pb.h"

namespace odyssey::ctl {

// The answer, with the digest of what was shown.
agent::v1::ResolveApprovalRequest AnswerRequest(const agent::v1::PermissionRequested& asked,
                                                const Answered& answer);

// Sends it to agentd. `answered_already`: it came too
// late, or the turn is over.
struct AnswerSent {
  std::optional<Failure> failure;
  bool answered_already = false;
};
AnswerSent SendAnswer(const Locations& locations, const agent::v1::PermissionRequested& asked,
                      const Answered& answer);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_APPROVAL_APPROVAL_CALL_H_
