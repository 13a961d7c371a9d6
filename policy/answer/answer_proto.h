#ifndef ODYSSEY_POLICY_ANSWER_ANSWER_PROTO_H_
#define ODYSSEY_POLICY_ANSWER_ANSWER_PROTO_H_

// A question and its answer as the messages of CheckPolicy: one mapping for the client and for the
// supervisor.

#include <odyssey/supervisor/v1/supervisor.pb.h>

#include "common/base/status.h"
#include "policy/answer/answer.h"

namespace odyssey::answer {

// `owner_uid`: for whom.
supervisor::v1::CheckPolicyRequest ToProto(const Question& question, uint32_t owner_uid);
// Of a request that has a cell. INVALID_ARGUMENT naming the field, the value and what is allowed.
Result<Question> FromProto(const supervisor::v1::CheckPolicyRequest& request);

supervisor::v1::CheckPolicyResponse ToProto(const Answer& answer);
Answer FromProto(const supervisor::v1::CheckPolicyResponse& response);

}  // namespace odyssey::answer

#endif  // ODYSSEY_POLICY_ANSWER_ANSWER_PROTO_H_
