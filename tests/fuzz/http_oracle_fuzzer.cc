// What is written for a server of a request that a command sent: llhttp, another parser of HTTP/1,
// reads it as one request with the method, the target and the body that were decided on, and then
// the next request. A server that read more or fewer bytes as the first would be one to smuggle by.
// The first byte of the input says how it is read.

#include <llhttp.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/base/status.h"
#include "supervisor/egress/http/body.h"
#include "supervisor/egress/http/forward.h"
#include "supervisor/egress/http/path.h"
#include "supervisor/egress/http/request_head.h"

namespace {

namespace http = odyssey::egress::http;

constexpr uint64_t kMaxBody = 4096;
constexpr std::string_view kNext = "GET /next HTTP/1.1\r\nHost: h.example\r\n\r\n";

struct Request {
  std::string method, target, body;
  int hosts = 0;
  bool whole = false;
};

struct Oracle {
  std::vector<Request> requests;
  std::string field;
};

Oracle* OracleOf(llhttp_t* parser) { return static_cast<Oracle*>(parser->data); }

int OnBegin(llhttp_t* parser) {
  OracleOf(parser)->requests.emplace_back();
  return 0;
}

int OnMethod(llhttp_t* parser, const char* at, size_t size) {
  OracleOf(parser)->requests.back().method.append(at, size);
  return 0;
}

int OnUrl(llhttp_t* parser, const char* at, size_t size) {
  OracleOf(parser)->requests.back().target.append(at, size);
  return 0;
}

int OnField(llhttp_t* parser, const char* at, size_t size) {
  OracleOf(parser)->field.append(at, size);
  return 0;
}

int OnFieldEnd(llhttp_t* parser) {
  Oracle* const oracle = OracleOf(parser);
  if (oracle->field == "Host" || oracle->field == "host") ++oracle->requests.back().hosts;
  oracle->field.clear();
  return 0;
}

int OnBody(llhttp_t* parser, const char* at, size_t size) {
  OracleOf(parser)->requests.back().body.append(at, size);
  return 0;
}

int OnEnd(llhttp_t* parser) {
  OracleOf(parser)->requests.back().whole = true;
  return 0;
}

// False: llhttp knows no such method, of which there is a fixed list.
bool Read(const std::string& bytes, Oracle* oracle) {
  llhttp_settings_t settings;
  llhttp_settings_init(&settings);
  settings.on_message_begin = OnBegin;
  settings.on_method = OnMethod;
  settings.on_url = OnUrl;
  settings.on_header_field = OnField;
  settings.on_header_field_complete = OnFieldEnd;
  settings.on_body = OnBody;
  settings.on_message_complete = OnEnd;
  llhttp_t parser;
  llhttp_init(&parser, HTTP_REQUEST, &settings);
  parser.data = oracle;
  const llhttp_errno_t error = llhttp_execute(&parser, bytes.data(), bytes.size());
  if (error == HPE_INVALID_METHOD) return false;
  ODY_CHECK(error == HPE_OK);
  return true;
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
  const auto* head = std::get_if<http::RequestHead>(&parsed);
  if (head == nullptr || head->form == http::TargetForm::kAuthority) return 0;
  const auto path = http::CanonicalizePath(head->path, head->query, options);
  const auto* canonical = std::get_if<http::CanonicalPath>(&path);
  if (canonical == nullptr) return 0;
  const http::Route route = {
      .host = "h.example", .port = 8443, .upgrade = http::UpgradeRule::kStrip};
  const auto written = http::WriteRequestHead(*head, *canonical, route);
  const auto* text = std::get_if<std::string>(&written);
  if (text == nullptr) return 0;

  // Of the stated length, or one chunk that looks like a request.
  const http::Framing framing = head->framing;
  if (framing.length > kMaxBody) return 0;
  std::string body;
  if (framing.kind == http::FramingKind::kLength) body.assign(framing.length, 'b');
  if (framing.kind == http::FramingKind::kChunked) body = "GET /body HTTP/1.1\r\n\r\n";
  std::string sent = *text;
  http::BodyWriter writer(framing);
  ODY_CHECK(body.empty() || writer.Write(body, &sent));
  ODY_CHECK(writer.End(&sent));
  sent += kNext;

  Oracle oracle;
  if (!Read(sent, &oracle)) return 0;
  ODY_CHECK(oracle.requests.size() == 2);
  const Request& first = oracle.requests[0];
  ODY_CHECK(first.whole && oracle.requests[1].whole);
  ODY_CHECK(first.method == head->method && first.body == body && first.hosts == 1);
  const std::string query = canonical->query.empty() ? "" : "?" + canonical->query;
  ODY_CHECK(first.target == canonical->wire + query);
  ODY_CHECK(oracle.requests[1].target == "/next" && oracle.requests[1].body.empty());
  return 0;
}
