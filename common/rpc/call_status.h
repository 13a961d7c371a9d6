#ifndef ODYSSEY_COMMON_RPC_CALL_STATUS_H_
#define ODYSSEY_COMMON_RPC_CALL_STATUS_H_

// How a call ended, from what its HTTP/2 stream brought. Pure.

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"

namespace odyssey::rpc {

// Detail::hint of UNAVAILABLE: no answer of the server, but the connection that was lost or
// refused.
inline constexpr char kHintConnectionLost[] = "connection_lost";

// The headers and trailers of one stream that say how its call ended.
class CallStatus final {
 public:
  // Keeps what it knows; every other header is left out.
  void Add(std::string_view name, std::string_view value);
  // `error`: the code with which the stream was closed, 0 if it was closed in order.
  Status Get(uint32_t error) const;

 private:
  std::string http_status_;
  std::string code_;
  std::string message_;  // decoded
  std::string details_;  // decoded
};

// As gRPC sends a message: %XX is a byte. What is no such sequence stays.
std::string DecodePercent(std::string_view text);
// As gRPC sends the value of a header -bin, with or without padding; "" if it is not base64.
std::string DecodeBase64(std::string_view text);

}  // namespace odyssey::rpc

#endif  // ODYSSEY_COMMON_RPC_CALL_STATUS_H_
