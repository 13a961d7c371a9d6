#ifndef ODYSSEY_COMMON_RPC_STATUS_MAP_H_
#define ODYSSEY_COMMON_RPC_STATUS_MAP_H_

// Status ↔ grpc::Status, in one place. Codes have equal values.

#include <grpcpp/support/status.h>

#include "common/base/status.h"

namespace odyssey::rpc {

grpc::Status ToGrpc(const Status& status);
Status FromGrpc(const grpc::Status& status);

}  // namespace odyssey::rpc

#endif  // ODYSSEY_COMMON_RPC_STATUS_MAP_H_
