#include "supervisor/egress/websocket/frame.h"

#include "common/base/utf8.h"

namespace odyssey::egress::websocket {
namespace {

// The codes that an end may send: those of the protocol and of its registry, and private ones.
bool MayBeSent(uint16_t code) {
  if (code >= 1000 && code <= 1014) return code != 1004 && code != 1005 && code != 1006;
  return code >= 3000 && code <= 4999;
}

}  // namespace

std::string ClosePayload(CloseCode code, std::string_view reason) {
  const auto number = static_cast<uint16_t>(code);
  std::string out = {static_cast<char>(number >> 8), static_cast<char>(number & 0xff)};
  return out.append(reason.substr(0, kMaxControlBytes - 2));
}

CloseProblem CheckClosePayload(std::string_view payload) {
  if (payload.empty()) return CloseProblem::kNone;
  if (payload.size() == 1) return CloseProblem::kCode;
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(payload[i]); };
  if (!MayBeSent(static_cast<uint16_t>(byte(0) << 8 | byte(1)))) return CloseProblem::kCode;
  return IsValidUtf8(payload.substr(2)) ? CloseProblem::kNone : CloseProblem::kReason;
}

}  // namespace odyssey::egress::websocket
