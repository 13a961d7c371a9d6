#include "supervisor/egress/http/request_head.h"

#include <algorithm>
#include <optional>
#include <utility>
#include <variant>

#include "supervisor/egress/http/head_lines.h"

namespace odyssey::egress::http {
namespace {

constexpr uint16_t kHttpPort = 80;
constexpr std::string_view kHttp = "http://";

using Problem = std::optional<ParseError>;

ParseError Bad(std::string reason) { return {.status = 400, .reason = std::move(reason)}; }

// Into path and query; `rest` begins with `/` or `?`, or is empty.
void TakePath(std::string_view rest, RequestHead* head) {
  const size_t mark = rest.find('?');
  head->path = rest.substr(0, mark);
  if (mark != std::string_view::npos) head->query = rest.substr(mark + 1);
  if (head->path.empty()) head->path = "/";
}

Problem TakeAuthority(std::string_view target, RequestHead* head) {
  head->form = TargetForm::kAuthority;
  const std::optional<Authority> authority = ParseAuthority(target);
  if (!authority || !authority->port) return Bad("CONNECT to what is not HOST:PORT");
  head->authority = *authority;
  return {};
}

Problem TakeAbsolute(std::string_view target, RequestHead* head) {
  if (!BeginsWithText(target, kHttp)) {
    return Bad("the target is neither http:// nor, with CONNECT, HOST:PORT");
  }
  head->form = TargetForm::kAbsolute;
  head->scheme = "http";
  target.remove_prefix(kHttp.size());
  const size_t end = std::min(target.find_first_of("/?"), target.size());
  std::optional<Authority> authority = ParseAuthority(target.substr(0, end));
  if (!authority) return Bad("the target has no host, or a host or port that is none");
  if (!authority->port) authority->port = kHttpPort;
  head->authority = *std::move(authority);
  // RFC 9110 section 9.3.7: the last proxy sends `*`.
  const bool whole_server = end == target.size() && head->method == "OPTIONS";
  if (whole_server) {
    head->path = "*";
  } else {
    TakePath(target.substr(end), head);
  }
  return {};
}

Problem TakeTarget(std::string_view target, Role role, RequestHead* head) {
  if (target.size() > kMaxTargetBytes) return ParseError{414, "the target is longer than 8 KiB"};
  const bool plain = std::all_of(target.begin(), target.end(),
                                 [](char c) { return IsVisible(c) && c != '#' && c != '\\'; });
  if (target.empty() || !plain) {
    return Bad("the target is empty, or has a space, a backslash, a fragment or no ASCII");
  }
  const bool connect = head->method == "CONNECT";
  if (target == "*") {
    head->form = TargetForm::kAsterisk;
    head->path = "*";
    if (head->method != "OPTIONS") return Bad("the target * without OPTIONS");
    return {};
  }
  if (role == Role::kOrigin) {
    if (connect || target[0] != '/') return Bad("the target is no path");
    TakePath(target, head);
    return {};
  }
  if (connect) return TakeAuthority(target, head);
  if (target[0] == '/') return Bad("a path is no target for a proxy");
  return TakeAbsolute(target, head);
}

Problem TakeFirstLine(std::string_view line, Role role, RequestHead* head) {
  const size_t method_end = line.find(' ');
  const size_t target_end = line.rfind(' ');
  if (method_end == std::string_view::npos || target_end == method_end) {
    return Bad("the first line is not METHOD TARGET VERSION");
  }
  head->method = line.substr(0, method_end);
  if (!IsToken(head->method) || head->method.size() > kMaxMethodBytes) {
    return Bad("the method is no word of at most 32 characters");
  }
  const std::optional<Version> version = ParseVersion(line.substr(target_end + 1));
  if (!version) return Bad("the version is neither HTTP/1.1 nor HTTP/1.0");
  head->version = *version;
  // They answer with the request, and so with the credentials that were put into it.
  if (SameText(head->method, "TRACE") || SameText(head->method, "TRACK")) {
    return ParseError{405, "TRACE and TRACK are not forwarded"};
  }
  return TakeTarget(line.substr(method_end + 1, target_end - method_end - 1), role, head);
}

// A target and a Host field that lead to two servers are refused: each side of us could obey
// another.
bool SamePlace(const Authority& target, const Authority& host, TargetForm form) {
  if (target.host != host.host) return false;
  if (host.port) return host.port == target.port;
  return form == TargetForm::kAuthority || target.port == kHttpPort;
}

Problem TakeHost(RequestHead* head) {
  const size_t count = CountFields(head->fields, "host");
  if (count > 1) return Bad("more than one Host");
  if (count == 0) {
    if (head->version == Version::kHttp11) return Bad("HTTP/1.1 without Host");
    return {};
  }
  const std::optional<Authority> host = ParseAuthority(FindField(head->fields, "host")->value);
  if (!host) return Bad("Host is not HOST or HOST:PORT");
  if (head->authority.host.empty()) {
    head->authority = *host;
  } else if (!SamePlace(head->authority, *host, head->form)) {
    return Bad("Host is not the host of the target");
  }
  return {};
}

Problem TakeFraming(RequestHead* head) {
  const auto framing = ReadFraming(head->fields, head->version);
  if (const auto* error = std::get_if<ParseError>(&framing)) return *error;
  head->framing = std::get<Framing>(framing);
  // What follows CONNECT is for the other end of the tunnel.
  const bool body = head->framing.kind == FramingKind::kChunked || head->framing.length > 0;
  if (head->form == TargetForm::kAuthority && body) return Bad("CONNECT with a body");
  return {};
}

Problem TakeExpectation(RequestHead* head) {
  const size_t count = CountFields(head->fields, "expect");
  if (count == 0 || head->version == Version::kHttp10) return {};
  const bool known =
      count == 1 && SameText(FindField(head->fields, "expect")->value, "100-continue");
  if (!known) return ParseError{417, "an expectation other than 100-continue"};
  head->expects_continue = true;
  return {};
}

Problem TakeConnection(RequestHead* head) {
  const auto connection = ReadRequestConnection(head->fields);
  if (const auto* error = std::get_if<ParseError>(&connection)) return *error;
  const auto& [close, upgrade] = std::get<Connection>(connection);
  head->close = close || head->version == Version::kHttp10;
  head->upgrade = ReadUpgrade(head->fields);
  const bool whole = upgrade && head->method == "GET" && head->version == Version::kHttp11 &&
                     head->framing == Framing{};
  if (head->upgrade == Upgrade::kWebSocket && !whole) head->upgrade = Upgrade::kOther;
  return {};
}

}  // namespace

Parsed<RequestHead> ParseRequestHead(std::string_view bytes, Role role, HeadScanner* scanner) {
  const Parsed<size_t> scan = scanner->Scan(bytes);
  if (std::holds_alternative<NeedMore>(scan)) return NeedMore{};
  if (const auto* error = std::get_if<ParseError>(&scan)) return *error;

  RequestHead head = {.size = std::get<size_t>(scan)};
  std::optional<HeadLines> lines = CutHead(bytes.substr(0, head.size));
  if (!lines) return Bad("a line of the head is not NAME: VALUE");
  if (const Problem problem = TakeFirstLine(lines->first, role, &head)) return *problem;
  head.fields = std::move(lines->fields);
  for (const auto take : {TakeHost, TakeFraming, TakeExpectation, TakeConnection}) {
    if (const Problem problem = take(&head)) return *problem;
  }
  return head;
}

Parsed<RequestHead> ParseRequestHead(std::string_view bytes, Role role) {
  HeadScanner scanner(ObsText::kRefuse);
  return ParseRequestHead(bytes, role, &scanner);
}

}  // namespace odyssey::egress::http
