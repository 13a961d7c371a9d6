// A request is whatever a command of a cell sends to the proxy. The head is read the same in pieces
// and whole, what is written of it for the server is read the same, by llhttp too, and a body in
// pieces has the same payload. The first byte of the input says how it is read.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "common/base/status.h"
#include "supervisor/egress/http/body.h"
#include "supervisor/egress/http/forward.h"
#include "supervisor/egress/http/path.h"
#include "supervisor/egress/http/request_head.h"
#include "tests/fuzz/http_oracle.h"

namespace {

namespace http = odyssey::egress::http;

constexpr uint64_t kMaxBody = 4096;  // of one that is written for llhttp
constexpr std::string_view kNext = "GET /next HTTP/1.1\r\nHost: h.example\r\n\r\n";

// One more byte at each call, until there is an answer.
http::Parsed<http::RequestHead> ReadInPieces(std::string_view bytes, http::Role role) {
  http::HeadScanner scanner(http::ObsText::kRefuse);
  http::Parsed<http::RequestHead> out = http::NeedMore{};
  for (size_t size = 0; size <= bytes.size(); ++size) {
    out = http::ParseRequestHead(bytes.substr(0, size), role, &scanner);
    if (!std::holds_alternative<http::NeedMore>(out)) break;
  }
  return out;
}

struct Body {
  http::BodyReader::State state = http::BodyReader::State::kMore;
  std::string payload;
  size_t taken = 0;
  bool whole = false;
  friend bool operator==(const Body&, const Body&) = default;
};

Body ReadBody(const http::Framing& framing, std::string_view bytes, size_t piece) {
  http::BodyReader reader(framing);
  Body out;
  for (;;) {
    const std::string_view given = bytes.substr(out.taken, piece);
    const http::BodyReader::Step step = reader.Read(given);
    ODY_CHECK(step.taken <= given.size());
    ODY_CHECK(step.payload.size() <= step.taken);
    ODY_CHECK((step.state == http::BodyReader::State::kPayload) == !step.payload.empty());
    out.state = step.state;
    out.payload += step.payload;
    out.taken += step.taken;
    const bool payload = step.state == http::BodyReader::State::kPayload;
    const bool more = step.state == http::BodyReader::State::kMore && out.taken < bytes.size();
    if (!payload && !more) break;
  }
  out.whole = reader.IsWholeAtClose();
  return out;
}

void CheckBody(const http::Framing& framing, std::string_view bytes) {
  const Body whole = ReadBody(framing, bytes, bytes.size() + 1);
  ODY_CHECK(whole == ReadBody(framing, bytes, 1));
  if (whole.state != http::BodyReader::State::kEnd) return;
  http::BodyWriter writer(framing);
  std::string written;
  ODY_CHECK(writer.Write(whole.payload, &written));
  ODY_CHECK(writer.End(&written));
  const Body again = ReadBody(framing, written, written.size() + 1);
  ODY_CHECK(again.state == whole.state && again.payload == whole.payload);
  ODY_CHECK(again.taken == written.size());
}

// A server that read more or fewer bytes as this request would be one to smuggle by. `written`: the
// head for the server.
void CheckByLlhttp(const http::RequestHead& head, const http::CanonicalPath& path,
                   const std::string& written) {
  const http::Framing framing = head.framing;
  if (framing.length > kMaxBody) return;
  std::string body;
  if (framing.kind == http::FramingKind::kLength) body.assign(framing.length, 'b');
  if (framing.kind == http::FramingKind::kChunked) body = "GET /body HTTP/1.1\r\n\r\n";
  std::string sent = written;
  http::BodyWriter writer(framing);
  ODY_CHECK(body.empty() || writer.Write(body, &sent));
  ODY_CHECK(writer.End(&sent));
  sent += kNext;

  const std::vector<odyssey::fuzz::OracleRequest> requests = odyssey::fuzz::ReadByLlhttp(sent);
  if (requests.empty()) return;
  ODY_CHECK(requests.size() == 2);
  const odyssey::fuzz::OracleRequest& first = requests[0];
  ODY_CHECK(first.whole && requests[1].whole);
  ODY_CHECK(first.method == head.method && first.body == body && first.hosts == 1);
  ODY_CHECK(first.target == path.wire + (path.query.empty() ? "" : "?" + path.query));
  ODY_CHECK(requests[1].target == "/next" && requests[1].body.empty());
}

void CheckForward(const http::RequestHead& head, const http::PathOptions& options) {
  const auto path = http::CanonicalizePath(head.path, head.query, options);
  const auto* canonical = std::get_if<http::CanonicalPath>(&path);
  if (canonical == nullptr) return;
  ODY_CHECK(canonical->wire.size() <= http::kMaxPathBytes);
  ODY_CHECK(http::CanonicalizePath(canonical->wire, canonical->query, options) == path);

  const http::Route route = {
      .host = "h.example", .port = 8443, .upgrade = http::UpgradeRule::kStrip};
  const auto written = http::WriteRequestHead(head, *canonical, route);
  const auto* text = std::get_if<std::string>(&written);
  if (text == nullptr) return;
  CheckByLlhttp(head, *canonical, *text);
  if (text->size() > http::kMaxHeadBytes) return;
  if (head.fields.size() == http::kMaxFields) return;  // Host may be one more
  const auto parsed = http::ParseRequestHead(*text, http::Role::kOrigin);
  const auto* again = std::get_if<http::RequestHead>(&parsed);
  ODY_CHECK(again != nullptr);
  ODY_CHECK(again->size == text->size());
  ODY_CHECK(again->method == head.method && again->framing == head.framing);
  ODY_CHECK(again->path == canonical->wire && again->query == canonical->query);
  ODY_CHECK(again->authority.host == "h.example" && again->authority.port == 8443);
  ODY_CHECK(http::WriteRequestHead(*again, *canonical, route) == written);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const http::Role role = (data[0] & 1) != 0 ? http::Role::kOrigin : http::Role::kProxy;
  const http::PathOptions options = {
      .spelling = (data[0] & 2) != 0 ? http::Spelling::kNormalize : http::Spelling::kRefuse,
      .allow_encoded_slash = (data[0] & 4) != 0};
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto parsed = http::ParseRequestHead(bytes, role);
  ODY_CHECK(parsed == ReadInPieces(bytes, role));
  const auto* head = std::get_if<http::RequestHead>(&parsed);
  if (head == nullptr) return 0;
  ODY_CHECK(head->size <= bytes.size());
  ODY_CHECK(http::ParseRequestHead(bytes.substr(0, head->size), role) == parsed);
  CheckBody(head->framing, bytes.substr(head->size));
  if (head->form != http::TargetForm::kAuthority) CheckForward(*head, options);
  return 0;
}
