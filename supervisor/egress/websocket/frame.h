#ifndef ODYSSEY_SUPERVISOR_EGRESS_WEBSOCKET_FRAME_H_
#define ODYSSEY_SUPERVISOR_EGRESS_WEBSOCKET_FRAME_H_

// What the frames of a WebSocket are made of (RFC 6455 sections 5 and 7), without extensions.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace odyssey::egress::websocket {

inline constexpr size_t kMaxControlBytes = 125;  // the payload of a close, ping or pong

// Which end of the connection sends a frame. A client masks all of its frames, a server none.
enum class Sender { kClient, kServer };

enum class Opcode : uint8_t {
  kContinuation = 0,
  kText = 1,
  kBinary = 2,
  kClose = 8,
  kPing = 9,
  kPong = 10,
};

inline bool IsControl(Opcode opcode) { return opcode >= Opcode::kClose; }

enum class CloseCode : uint16_t {
  kGoingAway = 1001,
  kProtocolError = 1002,
  kInvalidData = 1007,  // text that is not UTF-8
  kPolicy = 1008,
  kTooBig = 1009,
};

// The payload of a close. `reason` is UTF-8 of at most 123 bytes.
std::string ClosePayload(CloseCode code, std::string_view reason);

// What is wrong with the payload of a close that was received: kProtocolError for one byte alone or
// a code that no end may send, kInvalidData for a reason that is not UTF-8.
enum class CloseProblem { kNone, kCode, kReason };
CloseProblem CheckClosePayload(std::string_view payload);

}  // namespace odyssey::egress::websocket

#endif  // ODYSSEY_SUPERVISOR_EGRESS_WEBSOCKET_FRAME_H_
