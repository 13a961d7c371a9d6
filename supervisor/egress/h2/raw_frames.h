#ifndef ODYSSEY_SUPERVISOR_EGRESS_H2_RAW_FRAMES_H_
#define ODYSSEY_SUPERVISOR_EGRESS_H2_RAW_FRAMES_H_

// Frames of HTTP/2 by hand, as no well-behaved peer sends them. For tests.

#include <cstdint>
#include <string>
#include <string_view>

#include "supervisor/egress/http/field.h"

namespace odyssey::egress::h2::raw {

enum Type : uint8_t {
  kData,
  kHeaders,
  kPriority,
  kRstStream,
  kSettings,
  kPushPromise,
  kPing,
  kGoAway,
  kWindowUpdate,
  kContinuation,
};

inline constexpr uint8_t kEndStream = 1, kEndHeaders = 4;

inline std::string Number(uint32_t value) {
  std::string out;
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift);
  return out;
}

inline std::string Frame(Type type, uint8_t flags, uint32_t stream, std::string_view payload) {
  std::string out = Number(static_cast<uint32_t>(payload.size())).substr(1);
  out += static_cast<char>(type);
  out += static_cast<char>(flags);
  out += Number(stream);
  return out.append(payload);
}

// Without compression: literals that are never indexed, so that every spelling is possible.
inline std::string Block(const http::Fields& fields) {
  const auto text = [](std::string_view value) {
    std::string out;
    size_t size = value.size();
    if (size < 127) {
      out += static_cast<char>(size);
    } else {
      out += static_cast<char>(127);
      for (size -= 127; size >= 128; size /= 128) out += static_cast<char>(size % 128 + 128);
      out += static_cast<char>(size);
    }
    return out.append(value);
  };
  std::string out;
  for (const http::Field& field : fields) {
    out += '\x10';
    out += text(field.name) + text(field.value);
  }
  return out;
}

inline std::string Headers(uint32_t stream, const http::Fields& fields, bool ended = true) {
  const uint8_t flags = ended ? kEndHeaders | kEndStream : kEndHeaders;
  return Frame(kHeaders, flags, stream, Block(fields));
}

inline std::string Data(uint32_t stream, std::string_view bytes, bool ended = false) {
  return Frame(kData, ended ? kEndStream : 0, stream, bytes);
}

// What a client begins with.
inline std::string Preface() {
  return "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + Frame(kSettings, 0, 0, "");
}

}  // namespace odyssey::egress::h2::raw

#endif  // ODYSSEY_SUPERVISOR_EGRESS_H2_RAW_FRAMES_H_
