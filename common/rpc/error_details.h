#ifndef ODYSSEY_COMMON_RPC_ERROR_DETAILS_H_
#define ODYSSEY_COMMON_RPC_ERROR_DETAILS_H_

// A failure as a gRPC error carries it: code, message, and the bytes of
// odyssey.policy.v1.ErrorDetails (failure.proto). Without gRPC's library: both ends of a connection
// use it.

#include <google/protobuf/message.h>

#include <string>
#include <string_view>

#include "common/base/status.h"

namespace odyssey::rpc {

// "" if there is nothing to send beside code and message. `more`, if not null, goes with the
// detail. UNAVAILABLE always has details: without them it is of a connection that was lost.
std::string EncodeDetails(const Status& status, const google::protobuf::Message* more);

// Bytes that are no details are left out.
Status FromWire(Code code, std::string message, std::string_view details);

// What went with the error beside its detail. False: nothing of this type.
bool FindInDetails(std::string_view details, google::protobuf::Message* more);

}  // namespace odyssey::rpc

#endif  // ODYSSEY_COMMON_RPC_ERROR_DETAILS_H_
