#include "common/rpc/status_map.h"

namespace odyssey::rpc {

grpc::Status ToGrpc(const Status& status) {
  return grpc::Status(static_cast<grpc::StatusCode>(status.code()), status.message());
}

Status FromGrpc(const grpc::Status& status) {
  return Status(static_cast<Code>(status.error_code()), status.error_message());
}

}  // namespace odyssey::rpc
