#ifndef ODYSSEY_SUPERVISOR_EGRESS_WEBSOCKET_FRAME_WRITER_H_
#define ODYSSEY_SUPERVISOR_EGRESS_WEBSOCKET_FRAME_WRITER_H_

// One direction of a WebSocket, written: each piece of a message is a frame. Pure.

#include <string>
#include <string_view>

#include "supervisor/egress/websocket/frame.h"
#include "supervisor/egress/websocket/frame_reader.h"

namespace odyssey::egress::websocket {

class FrameWriter final {
 public:
  explicit FrameWriter(Sender sender) : sender_(sender) {}

  // Appends the frame of a piece or of a control frame; nothing for an empty piece that is not the
  // last one. `mask` is used for a client's, and is to be fresh and random for each frame.
  void Write(const Part& part, const Mask& mask, std::string* out);

 private:
  void Append(Opcode opcode, bool final, std::string_view payload, Mask mask, std::string* out);

  const Sender sender_;
  bool within_ = false;  // a message whose first frame was written
};

}  // namespace odyssey::egress::websocket

#endif  // ODYSSEY_SUPERVISOR_EGRESS_WEBSOCKET_FRAME_WRITER_H_
