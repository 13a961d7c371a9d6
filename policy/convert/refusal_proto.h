#ifndef ODYSSEY_POLICY_CONVERT_REFUSAL_PROTO_H_
#define ODYSSEY_POLICY_CONVERT_REFUSAL_PROTO_H_

#include "common/base/status.h"
#include "odyssey/supervisor/v1/supervisor.pb.h"

namespace odyssey::policy {

// Why a cell would not be made, with the field that asks too much.
supervisor::v1::Refusal ToProto(const Status& status);
Status FromProto(const supervisor::v1::Refusal& refusal);

}  // namespace odyssey::policy

#endif  // ODYSSEY_POLICY_CONVERT_REFUSAL_PROTO_H_
