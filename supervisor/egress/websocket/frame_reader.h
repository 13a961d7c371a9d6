#ifndef ODYSSEY_SUPERVISOR_EGRESS_WEBSOCKET_FRAME_READER_H_
#define ODYSSEY_SUPERVISOR_EGRESS_WEBSOCKET_FRAME_READER_H_

// One direction of a WebSocket, read: messages piece by piece, and control frames whole. What is
// not valid without extensions is an error, after which nothing more is read. Pure.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/utf8.h"
#include "supervisor/egress/websocket/frame.h"

namespace odyssey::egress::websocket {

using Mask = std::array<uint8_t, 4>;

// What was read next.
struct Part {
  enum class Kind {
    kMore,     // nothing, for lack of bytes
    kData,     // a piece of a message, unmasked; possibly empty
    kControl,  // a close, ping or pong
    kError,
  };
  Kind kind = Kind::kMore;
  size_t taken = 0;  // bytes that are done with, also with kMore
  // kText or kBinary of every piece of a message; of a control frame its own.
  Opcode opcode = Opcode::kContinuation;
  bool last = false;  // the message ends with this piece
  std::string payload;
  // Of an error: what the connection is closed with.
  CloseCode code = CloseCode::kProtocolError;
  std::string_view error;  // in ASCII, without bytes of the sender
  friend bool operator==(const Part&, const Part&) = default;
};

class FrameReader final {
 public:
  // A message of more bytes is an error, before the frame that makes it too long is read.
  FrameReader(Sender sender, uint64_t max_message_bytes)
      : sender_(sender), max_message_bytes_(max_message_bytes) {}

  // `bytes` begins behind what was taken by the call before. kMore leaves less than 14 +
  // kMaxControlBytes of them.
  Part Read(std::string_view bytes);

 private:
  struct Header {
    size_t size = 0;  // 0: it is not whole
    bool final = false, masked = false, reserved = false;
    uint8_t opcode = 0;
    uint64_t length = 0;
    bool shortest = true;  // the length was written as short as can be
    Mask mask = {};
  };
  static Header ParseHeader(std::string_view bytes);

  // "": it may stand here.
  std::string_view CheckHeader(const Header& header) const;
  Part TakeControl(const Header& header, std::string_view bytes);
  Part TakePiece(size_t taken, std::string_view bytes);
  Part Fail(CloseCode code, std::string_view error);

  const Sender sender_;
  const uint64_t max_message_bytes_;

  Opcode message_ = Opcode::kContinuation;  // that is being read; kContinuation: none
  uint64_t message_bytes_ = 0;
  std::string cut_;  // the beginning of a character at the end of what was read of a text

  bool in_frame_ = false;  // of data, of which `left_` bytes are to come
  bool final_ = false;
  uint64_t left_ = 0;
  Mask mask_ = {};  // turned to the next byte

  std::string_view error_;
  CloseCode code_ = CloseCode::kProtocolError;
};

}  // namespace odyssey::egress::websocket

#endif  // ODYSSEY_SUPERVISOR_EGRESS_WEBSOCKET_FRAME_READER_H_
