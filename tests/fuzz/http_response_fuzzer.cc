// A response is whatever a server sends. Its head is read the same in pieces and whole, and what is
// written of it for the client is read the same. The first byte of the input says what was asked.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "common/base/status.h"
#include "supervisor/egress/http/forward.h"
#include "supervisor/egress/http/response_head.h"

namespace {

namespace http = odyssey::egress::http;

http::Parsed<http::ResponseHead> ReadInPieces(std::string_view bytes, const http::Asked& asked) {
  http::HeadScanner scanner(http::ObsText::kAllow);
  http::Parsed<http::ResponseHead> out = http::NeedMore{};
  for (size_t size = 0; size <= bytes.size(); ++size) {
    out = http::ParseResponseHead(bytes.substr(0, size), asked, &scanner);
    if (!std::holds_alternative<http::NeedMore>(out)) break;
  }
  return out;
}

void CheckForward(const http::ResponseHead& head, const http::Asked& asked) {
  const std::string text = http::WriteResponseHead(head, head.framing, head.close);
  if (text.size() > http::kMaxHeadBytes) return;
  if (head.fields.size() == http::kMaxFields) return;  // Connection may be one more
  const auto parsed = http::ParseResponseHead(text, asked);
  const auto* again = std::get_if<http::ResponseHead>(&parsed);
  ODY_CHECK(again != nullptr);
  ODY_CHECK(again->size == text.size());
  ODY_CHECK(again->status == head.status && again->framing == head.framing);
  ODY_CHECK(again->described_length == head.described_length);
  ODY_CHECK(http::WriteResponseHead(*again, again->framing, head.close) == text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const http::Asked asked = {.method = (data[0] & 1) != 0 ? "HEAD" : "GET",
                             .websocket = (data[0] & 2) != 0,
                             .informational = (data[0] & 4) != 0 ? http::kMaxInformational : 0};
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto parsed = http::ParseResponseHead(bytes, asked);
  ODY_CHECK(parsed == ReadInPieces(bytes, asked));
  const auto* head = std::get_if<http::ResponseHead>(&parsed);
  if (head == nullptr) return 0;
  ODY_CHECK(head->size <= bytes.size());
  CheckForward(*head, asked);
  return 0;
}
