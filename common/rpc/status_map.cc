#include "common/rpc/status_map.h"

#include "common/rpc/error_details.h"

namespace odyssey::rpc {

grpc::Status ToGrpc(const Status& status, const google::protobuf::Message* more) {
  return {static_cast<grpc::StatusCode>(status.code()), status.message(),
          EncodeDetails(status, more)};
}

bool FindInDetails(const grpc::Status& status, google::protobuf::Message* more) {
  return FindInDetails(status.error_details(), more);
}

Status FromGrpc(const grpc::Status& status) {
  return FromWire(static_cast<Code>(status.error_code()), status.error_message(),
                  status.error_details());
}

}  // namespace odyssey::rpc
