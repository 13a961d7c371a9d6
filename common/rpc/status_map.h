#ifndef ODYSSEY_COMMON_RPC_STATUS_MAP_H_
#define ODYSSEY_COMMON_RPC_STATUS_MAP_H_

// Status ↔ grpc::Status, in one place. Codes have equal values; the detail travels as
// odyssey.policy.v1.Failure in the error's details (failure.proto). UNAVAILABLE always has details:
// without them it is gRPC's own, of a connection that was lost.

#include <google/protobuf/message.h>
#include <grpcpp/support/status.h>

#include "common/base/status.h"

namespace odyssey::rpc {

// `more`, if not null, goes with the error beside its detail.
grpc::Status ToGrpc(const Status& status, const google::protobuf::Message* more = nullptr);
Status FromGrpc(const grpc::Status& status);

// What went with the error beside its detail. False: nothing of this type.
bool FindInDetails(const grpc::Status& status, google::protobuf::Message* more);

}  // namespace odyssey::rpc

#endif  // ODYSSEY_COMMON_RPC_STATUS_MAP_H_
