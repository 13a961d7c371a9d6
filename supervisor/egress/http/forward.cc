#include "supervisor/egress/http/forward.h"

#include <algorithm>

#include "policy/egress/pattern.h"

namespace odyssey::egress::http {
namespace {

constexpr std::string_view kOverrideFields[] = {"x-http-method-override", "x-method-override",
                                                "x-http-method"};
constexpr int kSwitchingProtocols = 101;

bool IsStrippedFromRequest(const Field& field) {
  return IsHopByHop(field.name) || SameText(field.name, "host") || SameText(field.name, "expect") ||
         SameText(field.name, "via") || SameText(field.name, "forwarded") ||
         SameText(field.name, "early-data") || BeginsWithText(field.name, "x-forwarded-");
}

bool IsStrippedFromResponse(const Field& field, const std::vector<std::string>& named) {
  return IsHopByHop(field.name) || SameText(field.name, "alt-svc") ||
         std::any_of(named.begin(), named.end(),
                     [&](const std::string& name) { return SameText(name, field.name); });
}

bool IsWebSocketExtension(const Field& field) {
  return SameText(field.name, "sec-websocket-extensions");
}

std::string TargetOf(const RequestHead& head, const CanonicalPath& path) {
  if (head.form == TargetForm::kAsterisk) return "*";
  return path.query.empty() ? path.wire : path.wire + "?" + path.query;
}

void AppendFraming(const Framing& framing, std::string* out) {
  if (framing.kind == FramingKind::kLength) {
    AppendField("Content-Length", std::to_string(framing.length), out);
  } else if (framing.kind == FramingKind::kChunked) {
    AppendField("Transfer-Encoding", "chunked", out);
  }
}

void AppendUpgrade(std::string* out) {
  AppendField("Connection", "Upgrade", out);
  AppendField("Upgrade", "websocket", out);
}

}  // namespace

std::variant<std::string, ParseError> WriteRequestHead(const RequestHead& head,
                                                       const CanonicalPath& path,
                                                       const Route& route) {
  const bool websocket =
      head.upgrade == Upgrade::kWebSocket && route.upgrade == UpgradeRule::kWebSocket;
  if (head.upgrade != Upgrade::kNone && !websocket && route.upgrade != UpgradeRule::kStrip) {
    return ParseError{403, "no rule allows this change of protocol"};
  }
  // It may be another's request, repeated (RFC 8470).
  if (FindField(head.fields, "early-data") != nullptr) {
    return ParseError{425, "a request from early data of TLS"};
  }

  std::string out = head.method + " " + TargetOf(head, path) + " HTTP/1.1\r\n";
  std::string host = BeforePort(route.host);
  if (route.port != route.default_port) host += ":" + std::to_string(route.port);
  AppendField("Host", host, &out);
  for (const Field& field : head.fields) {
    if (IsStrippedFromRequest(field)) continue;
    if (IsWebSocketExtension(field) && !(websocket && route.websocket_extensions)) continue;
    if (!IsToken(field.name) || !IsFieldValue(field.value, ObsText::kRefuse)) {
      return ParseError{500, "a field that is none"};
    }
    AppendField(field.name, field.value, &out);
  }
  AppendFraming(route.framing.value_or(head.framing), &out);
  if (websocket) AppendUpgrade(&out);
  return out + "\r\n";
}

std::vector<std::string> EffectiveMethods(const RequestHead& head,
                                          const std::vector<QueryPair>& query) {
  std::vector<std::string> methods = {head.method};
  const auto add = [&](std::string_view method) { methods.push_back(UpperCase(Trim(method))); };
  for (const Field& field : head.fields) {
    const bool overrides =
        std::any_of(std::begin(kOverrideFields), std::end(kOverrideFields),
                    [&](std::string_view name) { return SameText(name, field.name); });
    if (overrides) add(field.value);
  }
  for (const QueryPair& pair : query) {
    if (SameText(pair.name, "_method")) add(pair.value);
  }
  return methods;
}

Framing FramingForClient(const ResponseHead& head, Version client) {
  const bool chunks = head.framing.kind == FramingKind::kChunked;
  if (chunks && client == Version::kHttp10) return {.kind = FramingKind::kUntilClose};
  return head.framing;
}

std::string WriteResponseHead(const ResponseHead& head, const Framing& framing, bool close) {
  const std::vector<std::string> named = ListMembers(head.fields, "connection");
  std::string out = "HTTP/1.1 " + std::to_string(head.status) + " " + head.reason + "\r\n";
  for (const Field& field : head.fields) {
    if (!IsStrippedFromResponse(field, named)) AppendField(field.name, field.value, &out);
  }
  if (head.described_length) {
    AppendField("Content-Length", std::to_string(*head.described_length), &out);
  }
  AppendFraming(framing, &out);
  if (head.status == kSwitchingProtocols) {
    AppendUpgrade(&out);
  } else if (head.status >= 200 && (close || framing.kind == FramingKind::kUntilClose)) {
    AppendField("Connection", "close", &out);
  }
  return out + "\r\n";
}

}  // namespace odyssey::egress::http
