// The frames of a WebSocket are whatever a command or a server sends. They are read the same in
// pieces and whole, and what is written of them is read as the same messages. The first byte of the
// input says which end sends, and how it is cut.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/base/utf8.h"
#include "supervisor/egress/websocket/frame_reader.h"
#include "supervisor/egress/websocket/frame_writer.h"

namespace {

namespace websocket = odyssey::egress::websocket;
using websocket::Part;

constexpr uint64_t kMaxMessageBytes = 4096;

struct Read {
  std::vector<Part> messages;  // whole ones, and control frames
  std::vector<Part> parts;     // all
  bool failed = false;
  websocket::CloseCode code = {};
};

Read ReadAll(std::string_view bytes, websocket::Sender sender, size_t step) {
  websocket::FrameReader reader(sender, kMaxMessageBytes);
  Read out;
  Part message{.kind = Part::Kind::kData};
  std::string buffer;
  for (size_t at = 0; at < bytes.size(); at += step) {
    buffer += bytes.substr(at, step);
    for (;;) {
      const Part part = reader.Read(buffer);
      ODY_CHECK(part.taken <= buffer.size());
      buffer.erase(0, part.taken);
      if (part.kind == Part::Kind::kMore) break;
      if (part.kind == Part::Kind::kError) {
        ODY_CHECK(reader.Read(buffer).kind == Part::Kind::kError);
        out.failed = true;
        out.code = part.code;
        return out;
      }
      out.parts.push_back(part);
      if (part.kind == Part::Kind::kControl) {
        ODY_CHECK(part.payload.size() <= websocket::kMaxControlBytes);
        out.messages.push_back({.kind = part.kind, .opcode = part.opcode, .payload = part.payload});
        continue;
      }
      message.opcode = part.opcode;
      message.payload += part.payload;
      ODY_CHECK(message.payload.size() <= kMaxMessageBytes);
      if (!part.last) continue;
      const bool text = message.opcode == websocket::Opcode::kText;
      ODY_CHECK(!text || odyssey::IsValidUtf8(message.payload));
      out.messages.push_back(message);
      message.payload.clear();
    }
    ODY_CHECK(buffer.size() < 14 + websocket::kMaxControlBytes);
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const auto sender = (data[0] & 1) != 0 ? websocket::Sender::kClient : websocket::Sender::kServer;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Read whole = ReadAll(bytes, sender, bytes.size());
  const Read pieces = ReadAll(bytes, sender, 1 + (data[0] >> 1) % 20);
  ODY_CHECK(pieces.messages == whole.messages);
  ODY_CHECK(pieces.failed == whole.failed && pieces.code == whole.code);

  websocket::FrameWriter writer(sender);
  std::string written;
  for (const Part& part : whole.parts) writer.Write(part, {1, 2, 3, data[0]}, &written);
  if (written.empty()) return 0;
  const Read again = ReadAll(written, sender, written.size());
  ODY_CHECK(!again.failed && again.messages == whole.messages);
  return 0;
}
