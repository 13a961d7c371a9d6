#include "supervisor/egress/h2/head.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "supervisor/egress/http/head_lines.h"

namespace odyssey::egress::h2 {
namespace {

using http::Field;
using http::Fields;
using http::FramingKind;
using http::ObsText;
using http::ParseError;
using http::RequestHead;
using http::ResponseHead;

bool IsPseudo(const Field& field) { return !field.name.empty() && field.name[0] == ':'; }

// What HTTP/2 has frames for, or not at all (RFC 9113 section 8.2.2).
bool IsForConnection(const Field& field) {
  constexpr std::string_view kNames[] = {"connection",       "http2-settings",    "keep-alive",
                                         "proxy-connection", "transfer-encoding", "upgrade"};
  return std::find(std::begin(kNames), std::end(kNames), field.name) != std::end(kNames);
}

// Why a field is none of HTTP/2. Nothing that passes could end a line of HTTP/1.1.
std::string_view ProblemOf(const Field& field, ObsText obs_text) {
  const std::string_view name = std::string_view(field.name).substr(IsPseudo(field) ? 1 : 0);
  if (!http::IsToken(name)) return "a field's name is no word";
  if (std::any_of(name.begin(), name.end(), [](char c) { return c >= 'A' && c <= 'Z'; })) {
    return "a field's name is in upper case";
  }
  if (!http::IsFieldValue(field.value, obs_text)) return "a field's value has control characters";
  if (IsForConnection(field)) return "a field about a connection";
  if (field.name == "te" && field.value != "trailers") return "te is not trailers";
  return {};
}

// The pseudo-header fields of a head, and the lines of HTTP/1.1 of the others.
struct Split {
  Fields pseudo;
  std::string lines;
  std::string_view problem;
};

Split SplitFields(const Fields& fields, ObsText obs_text) {
  Split out;
  bool others = false;
  for (const Field& field : fields) {
    out.problem = ProblemOf(field, obs_text);
    if (out.problem.empty() && IsPseudo(field)) {
      if (others) out.problem = "a pseudo-header field behind others";
      if (http::FindField(out.pseudo, field.name) != nullptr) out.problem = "two of one field";
      out.pseudo.push_back(field);
    } else {
      others = true;
      if (field.name != "host") http::AppendField(field.name, field.value, &out.lines);
    }
    if (!out.problem.empty()) break;
  }
  return out;
}

std::string_view ValueOf(const Fields& fields, std::string_view name) {
  const Field* const found = http::FindField(fields, name);
  return found == nullptr ? std::string_view() : std::string_view(found->value);
}

// Of :authority and Host, which say the same where both are there.
std::optional<std::string_view> AuthorityOf(const Fields& pseudo, const Fields& fields) {
  const size_t hosts = http::CountFields(fields, "host");
  const std::string_view host = ValueOf(fields, "host");
  const std::string_view authority = ValueOf(pseudo, ":authority");
  if (hosts > 1) return std::nullopt;
  if (hosts == 0 || host == authority) return authority;
  return authority.empty() ? std::optional(host) : std::nullopt;
}

bool IsVisible(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), http::IsVisible);
}

std::string Text(std::string_view first, const std::string& lines) {
  std::string out(first);
  out += "\r\n";
  out += lines;
  return out + "\r\n";
}

// The fields of a head, without those about a connection; Host becomes :authority.
Fields FieldsOf(const Fields& fields) {
  Fields out;
  for (const Field& field : fields) {
    Field lower{http::LowerCase(field.name), field.value};
    if (!IsForConnection(lower) && lower.name != "host") out.push_back(std::move(lower));
  }
  return out;
}

}  // namespace

std::variant<RequestHead, ParseError, Malformed> ReadRequest(const Fields& fields, bool ended) {
  const Split split = SplitFields(fields, ObsText::kRefuse);
  if (!split.problem.empty()) return Malformed{std::string(split.problem)};
  const std::string_view method = ValueOf(split.pseudo, ":method");
  const std::string_view path = ValueOf(split.pseudo, ":path");
  const auto authority = AuthorityOf(split.pseudo, fields);
  if (!authority) return Malformed{"Host is not :authority"};
  // Extended CONNECT has :protocol, for which no setting was sent.
  const bool known = std::all_of(split.pseudo.begin(), split.pseudo.end(), [](const Field& field) {
    return field.name == ":method" || field.name == ":path" || field.name == ":scheme" ||
           field.name == ":authority";
  });
  if (!known) return Malformed{"an unknown pseudo-header field"};
  if (method == "CONNECT") return ParseError{405, "CONNECT within a connection"};
  if (!IsVisible(method) || !IsVisible(path) || !IsVisible(*authority)) {
    return Malformed{"no method, path or authority"};
  }
  if (ValueOf(split.pseudo, ":scheme") != "https") return Malformed{"the scheme is not https"};

  std::string lines;
  http::AppendField("host", *authority, &lines);
  lines += split.lines;
  std::string first(method);
  first.append(" ").append(path).append(" HTTP/1.1");
  auto parsed = http::ParseRequestHead(Text(first, lines), http::Role::kOrigin);
  if (auto* error = std::get_if<ParseError>(&parsed)) return std::move(*error);
  auto* const head = std::get_if<RequestHead>(&parsed);
  if (head == nullptr) return Malformed{"no head"};
  if (ended && head->framing.length > 0) return Malformed{"a Content-Length without a body"};
  if (!ended && head->framing.kind == FramingKind::kNone) {
    head->framing.kind = FramingKind::kChunked;
  }
  return std::move(*head);
}

std::variant<ResponseHead, Malformed> ReadResponse(const Fields& fields, bool ended,
                                                   const http::Asked& asked) {
  const Split split = SplitFields(fields, ObsText::kAllow);
  if (!split.problem.empty()) return Malformed{std::string(split.problem)};
  const std::string_view status = ValueOf(split.pseudo, ":status");
  if (split.pseudo.size() != 1 || !IsVisible(status)) return Malformed{"no status"};
  auto parsed =
      http::ParseResponseHead(Text("HTTP/1.1 " + std::string(status) + " ", split.lines), asked);
  if (auto* error = std::get_if<ParseError>(&parsed)) return Malformed{std::move(error->reason)};
  auto* const head = std::get_if<ResponseHead>(&parsed);
  if (head == nullptr) return Malformed{"no head"};
  if (ended && head->framing.length > 0) return Malformed{"a Content-Length without a body"};
  if (head->framing.kind == FramingKind::kUntilClose) {
    head->framing.kind = ended ? FramingKind::kNone : FramingKind::kChunked;
  }
  head->close = false;
  return std::move(*head);
}

std::variant<Fields, Malformed> ReadTrailers(const Fields& fields) {
  const Split split = SplitFields(fields, ObsText::kAllow);
  if (!split.problem.empty()) return Malformed{std::string(split.problem)};
  if (!split.pseudo.empty()) return Malformed{"a pseudo-header field behind a body"};
  return fields;
}

Fields RequestFields(std::string_view head) {
  const std::optional<http::HeadLines> lines = http::CutHead(head);
  if (!lines) return {};
  const size_t method = lines->first.find(' ');
  const size_t target = lines->first.rfind(' ');
  if (method == std::string_view::npos || target == method) return {};
  Fields out = {{":method", std::string(lines->first.substr(0, method))},
                {":scheme", "https"},
                {":authority", std::string(ValueOf(lines->fields, "host"))},
                {":path", std::string(lines->first.substr(method + 1, target - method - 1))}};
  for (Field& field : FieldsOf(lines->fields)) out.push_back(std::move(field));
  return out;
}

Fields ResponseFields(std::string_view head) {
  constexpr size_t kStatusAt = 9, kStatusSize = 3;  // "HTTP/1.1 200"
  const std::optional<http::HeadLines> lines = http::CutHead(head);
  if (!lines || lines->first.size() < kStatusAt + kStatusSize) return {};
  Fields out = {{":status", std::string(lines->first.substr(kStatusAt, kStatusSize))}};
  for (Field& field : FieldsOf(lines->fields)) out.push_back(std::move(field));
  return out;
}

}  // namespace odyssey::egress::h2
