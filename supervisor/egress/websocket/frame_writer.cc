#include "supervisor/egress/websocket/frame_writer.h"

#include <cstddef>
#include <cstdint>

namespace odyssey::egress::websocket {
namespace {

constexpr uint8_t kFinal = 0x80, kMasked = 0x80;
constexpr size_t kShort = 125, kLong = 0xffff;  // the most that a length of 7, of 16 bits says

// 126 and 127 say that a length of 16 or 64 bits follows.
void AppendLength(size_t length, uint8_t masked, std::string* out) {
  const auto append = [&](size_t bytes) {
    for (size_t i = bytes; i > 0; --i) {
      *out += static_cast<char>(static_cast<uint64_t>(length) >> (8 * (i - 1)) & 0xff);
    }
  };
  if (length <= kShort) {
    *out += static_cast<char>(masked | length);
  } else if (length <= kLong) {
    *out += static_cast<char>(masked | 126);
    append(2);
  } else {
    *out += static_cast<char>(masked | 127);
    append(8);
  }
}

}  // namespace

void FrameWriter::Write(const Part& part, const Mask& mask, std::string* out) {
  if (part.kind == Part::Kind::kControl) return Append(part.opcode, true, part.payload, mask, out);
  if (part.payload.empty() && !part.last) return;
  Append(within_ ? Opcode::kContinuation : part.opcode, part.last, part.payload, mask, out);
  within_ = !part.last;
}

void FrameWriter::Append(Opcode opcode, bool final, std::string_view payload, Mask mask,
                         std::string* out) {
  const bool masked = sender_ == Sender::kClient;
  *out += static_cast<char>((final ? kFinal : 0) | static_cast<uint8_t>(opcode));
  AppendLength(payload.size(), masked ? kMasked : 0, out);
  if (!masked) {
    out->append(payload);
    return;
  }
  for (const uint8_t byte : mask) *out += static_cast<char>(byte);
  for (size_t i = 0; i < payload.size(); ++i) {
    *out += static_cast<char>(static_cast<uint8_t>(payload[i]) ^ mask[i % mask.size()]);
  }
}

}  // namespace odyssey::egress::websocket
