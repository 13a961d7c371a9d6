#include "supervisor/egress/http/framing.h"

#include <charconv>

namespace odyssey::egress::http {

std::optional<uint64_t> ParseLength(std::string_view text) {
  if (text.empty() || !IsDigit(text[0]) || (text[0] == '0' && text.size() > 1)) return std::nullopt;
  uint64_t length = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, length);
  if (error != std::errc() || stop != end || length > kMaxBodyBytes) return std::nullopt;
  return length;
}

std::variant<Framing, ParseError> ReadFraming(const Fields& fields, Version version) {
  const size_t lengths = CountFields(fields, "content-length");
  const size_t encodings = CountFields(fields, "transfer-encoding");
  if (lengths + encodings == 0) return Framing{};
  if (lengths > 0 && encodings > 0) {
    return ParseError{400, "Content-Length and Transfer-Encoding in one head"};
  }
  if (lengths > 1) return ParseError{400, "more than one Content-Length"};
  if (encodings > 1) return ParseError{400, "more than one Transfer-Encoding"};

  if (encodings == 1) {
    if (version == Version::kHttp10) return ParseError{400, "Transfer-Encoding in HTTP/1.0"};
    if (!SameText(FindField(fields, "transfer-encoding")->value, "chunked")) {
      return ParseError{400, "a Transfer-Encoding other than chunked"};
    }
    return Framing{.kind = FramingKind::kChunked};
  }
  const std::optional<uint64_t> length = ParseLength(FindField(fields, "content-length")->value);
  if (!length) return ParseError{400, "a Content-Length that is no decimal number"};
  return Framing{.kind = FramingKind::kLength, .length = *length};
}

}  // namespace odyssey::egress::http
