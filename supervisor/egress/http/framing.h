#ifndef ODYSSEY_SUPERVISOR_EGRESS_HTTP_FRAMING_H_
#define ODYSSEY_SUPERVISOR_EGRESS_HTTP_FRAMING_H_

// How a body ends (RFC 9112 section 6), as the fields of its head say it in exactly one way.

#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

#include "supervisor/egress/http/field.h"
#include "supervisor/egress/http/parsed.h"

namespace odyssey::egress::http {

enum class Version { kHttp10, kHttp11 };

enum class FramingKind {
  kNone,    // no body
  kLength,  // `length` bytes, of which there may be none
  kChunked,
  kUntilClose  // of responses only
};

struct Framing {
  FramingKind kind = FramingKind::kNone;
  uint64_t length = 0;  // with kLength
  friend bool operator==(const Framing&, const Framing&) = default;
};

inline constexpr uint64_t kMaxBodyBytes = uint64_t{1} << 62;

// A decimal number as one program writes it: no sign, space, list or leading zero, at most
// kMaxBodyBytes.
std::optional<uint64_t> ParseLength(std::string_view text);

// kNone where neither Content-Length nor Transfer-Encoding is there. An error for both of them, for
// two of one, for a length that is none, for an encoding other than the one word `chunked`, and for
// an encoding in HTTP/1.0.
std::variant<Framing, ParseError> ReadFraming(const Fields& fields, Version version);

}  // namespace odyssey::egress::http

#endif  // ODYSSEY_SUPERVISOR_EGRESS_HTTP_FRAMING_H_
