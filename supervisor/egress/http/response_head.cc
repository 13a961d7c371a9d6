#include "supervisor/egress/http/response_head.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "supervisor/egress/http/head_lines.h"

namespace odyssey::egress::http {
namespace {

using Problem = std::optional<ParseError>;

constexpr size_t kVersionBytes = 8;  // "HTTP/1.1"
constexpr int kSwitchingProtocols = 101, kNoContent = 204, kNotModified = 304;

ParseError Bad(std::string reason) { return {.status = 502, .reason = std::move(reason)}; }

// "HTTP/1.1 200 OK"; the reason and the space before it may be missing.
Problem TakeFirstLine(std::string_view line, ResponseHead* head) {
  const std::optional<Version> version = ParseVersion(line.substr(0, kVersionBytes));
  if (!version) return Bad("the response's version is neither HTTP/1.1 nor HTTP/1.0");
  head->version = *version;
  line.remove_prefix(kVersionBytes);
  const bool status = line.size() >= 4 && line[0] == ' ' && line[1] >= '1' && line[1] <= '5' &&
                      IsDigit(line[2]) && IsDigit(line[3]) && (line.size() == 4 || line[4] == ' ');
  if (!status) return Bad("the response's status is not a number from 100 to 599");
  head->status = (line[1] - '0') * 100 + (line[2] - '0') * 10 + (line[3] - '0');
  if (line.size() > 5) head->reason = line.substr(5);
  return {};
}

Problem CheckInformational(const ResponseHead& head, const Asked& asked) {
  if (head.status >= 200) return {};
  if (asked.informational >= kMaxInformational) return Bad("too many responses with 1xx");
  if (head.version == Version::kHttp10) return Bad("a response with 1xx in HTTP/1.0");
  if (head.status != kSwitchingProtocols) return {};
  const bool websocket = asked.websocket && ReadUpgrade(head.fields) == Upgrade::kWebSocket &&
                         ReadResponseConnection(head.fields).upgrade;
  if (!websocket) return Bad("a switch of protocols that was not asked for");
  return {};
}

Problem TakeFraming(const Asked& asked, ResponseHead* head) {
  auto framing = ReadFraming(head->fields, head->version);
  if (auto* error = std::get_if<ParseError>(&framing)) return Bad(std::move(error->reason));
  head->framing = std::get<Framing>(framing);
  const bool length = head->framing.kind == FramingKind::kLength;
  const bool has_framing = head->framing.kind == FramingKind::kChunked || head->framing.length > 0;

  if (head->status < 200 || head->status == kNoContent) {
    if (has_framing) return Bad("a body with a status that has none");
    head->framing = {};
  } else if (asked.method == "HEAD" || head->status == kNotModified) {
    if (length) head->described_length = head->framing.length;
    head->framing = {};
  } else if (head->framing.kind == FramingKind::kNone) {
    head->framing.kind = FramingKind::kUntilClose;
  }
  return {};
}

}  // namespace

Parsed<ResponseHead> ParseResponseHead(std::string_view bytes, const Asked& asked,
                                       HeadScanner* scanner) {
  Parsed<size_t> scan = scanner->Scan(bytes);
  if (std::holds_alternative<NeedMore>(scan)) return NeedMore{};
  if (auto* error = std::get_if<ParseError>(&scan)) return Bad(std::move(error->reason));

  ResponseHead head = {.size = std::get<size_t>(scan)};
  std::optional<HeadLines> lines = CutHead(bytes.substr(0, head.size));
  if (!lines) return Bad("a line of the response's head is not NAME: VALUE");
  if (const Problem problem = TakeFirstLine(lines->first, &head)) return *problem;
  head.fields = std::move(lines->fields);
  if (const Problem problem = CheckInformational(head, asked)) return *problem;
  if (const Problem problem = TakeFraming(asked, &head)) return *problem;
  head.close = ReadResponseConnection(head.fields).close || head.version == Version::kHttp10 ||
               head.framing.kind == FramingKind::kUntilClose;
  return head;
}

Parsed<ResponseHead> ParseResponseHead(std::string_view bytes, const Asked& asked) {
  HeadScanner scanner(ObsText::kAllow);
  return ParseResponseHead(bytes, asked, &scanner);
}

}  // namespace odyssey::egress::http
