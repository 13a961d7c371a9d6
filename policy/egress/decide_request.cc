// DecideRequest and DecideMessage: the checks that all protocols share, then the protocol's judge.

#include <algorithm>
#include <utility>

#include "common/base/control.h"
#include "policy/egress/decide.h"
#include "policy/egress/glob.h"
#include "policy/egress/grant.h"
#include "policy/egress/graphql.h"
#include "policy/egress/names.h"
#include "policy/egress/pattern.h"
#include "policy/egress/rest.h"
#include "policy/egress/rpc.h"

namespace odyssey::egress {
namespace {

// ── which endpoints decide ──

enum class Particular { kWhole, kPattern, kLiteral };

Particular ParticularityOf(const std::string& path) {
  if (path.empty() || path == "**" || path == "/**") return Particular::kWhole;
  return path.find('*') == std::string::npos ? Particular::kLiteral : Particular::kPattern;
}

// Beside an endpoint that is inspected, one that is not must not decide. The policy was checked for
// it, like for the next.
std::vector<Pair> InspectedOf(const std::vector<Pair>& pairs) {
  std::vector<Pair> inspected;
  for (const Pair& pair : pairs) {
    if (IsInspected(pair.endpoint->protocol)) inspected.push_back(pair);
  }
  return inspected;
}

// The policy was checked for it; a relay that hands over pairs of two connections is not.
bool AgreeOnProtocol(const std::vector<Pair>& pairs) {
  return std::all_of(pairs.begin(), pairs.end(), [&](const Pair& pair) {
    return pair.endpoint->protocol == pairs[0].endpoint->protocol;
  });
}

// ── what is asked, by all protocols alike ──

bool HasDotSegment(const std::string& path) {
  for (size_t at = 0; at != std::string::npos; at = path.find('/', at + 1)) {
    const size_t begin = at + 1;
    const size_t end = std::min(path.find('/', begin), path.size());
    const std::string_view segment = std::string_view(path).substr(begin, end - begin);
    if (segment == "." || segment == "..") return true;
  }
  return false;
}

bool EqualsIgnoringCase(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(), [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
  });
}

// What a path that is decoded once does not hold, unless it was encoded twice.
bool HasEncoded(const std::string& path, std::string_view byte) {
  for (size_t at = path.find('%'); at != std::string::npos; at = path.find('%', at + 1)) {
    if (EqualsIgnoringCase(std::string_view(path).substr(at + 1, 2), byte)) return true;
  }
  return false;
}

// For a server that takes %2F for a slash.
std::string WithSlashes(std::string path) {
  for (size_t at = path.find('%'); at != std::string::npos; at = path.find('%', at + 1)) {
    if (EqualsIgnoringCase(std::string_view(path).substr(at + 1, 2), "2f"))
      path.replace(at, 3, "/");
  }
  return path;
}

bool IsCanonical(const Request& request) {
  const std::string& path = request.path;
  for (const char* byte : {"2e", "5c", "00"}) {
    if (HasEncoded(path, byte)) return false;
  }
  if (path == "*") return request.method == "OPTIONS";
  return !path.empty() && path[0] == '/' && path.find("//") == std::string::npos &&
         path.find('\\') == std::string::npos && !HasControl(path) &&
         !HasDotSegment(WithSlashes(path));
}

bool HasHeader(const Request& request, std::string_view name) {
  return std::any_of(request.headers.begin(), request.headers.end(),
                     [&](const Field& header) { return header.name == name; });
}

Verdict CheckSlash(const std::vector<Pair>& pairs, const std::string& path) {
  const bool allowed = std::all_of(pairs.begin(), pairs.end(), [](const Pair& pair) {
    return pair.endpoint->allow_encoded_slash;
  });
  if (allowed || !HasEncoded(path, "2f")) return {};
  return Refuse(Refusal::kMalformed, "the path holds %2F, which allow_encoded_slash allows");
}

Verdict CheckMethod(const std::string& method) {
  if (method == "TRACE" || method == "TRACK") {
    return Refuse(Refusal::kMethodNotAllowed, method + " is never forwarded");
  }
  if (IsKnownMethod(method)) return {};
  return Refuse(Refusal::kPolicyDenied,
                "`" + Shown(method) + "` is no method that is forwarded; their case counts");
}

// Another protocol on the same connection would not be inspected.
Verdict CheckUpgrade(const Request& request, Protocol protocol) {
  if (!HasHeader(request, "upgrade")) return {};
  const HeaderValue upgrade = FindHeader(request, "upgrade");
  if (protocol != Protocol::kWebSocket && protocol != Protocol::kRest) {
    return Refuse(Refusal::kPolicyDenied, "an upgrade to `" + Shown(upgrade.value) +
                                              "` needs an endpoint of protocol websocket or rest");
  }
  if (upgrade.twice || !EqualsIgnoringCase(upgrade.value, "websocket")) {
    return Refuse(Refusal::kPolicyDenied, "only an upgrade to websocket is forwarded");
  }
  if (request.method == "GET") return {};
  return Refuse(Refusal::kMalformed, "a WebSocket is opened by GET");
}

Verdict CheckBody(const Request& request, uint64_t limit) {
  if (limit == 0) return {};
  if (request.body.size() > limit) {
    return Refuse(Refusal::kBodyTooLarge,
                  "the body has more than " + std::to_string(limit) + " bytes");
  }
  const HeaderValue encoding = FindHeader(request, "content-encoding");
  if (!encoding.twice &&
      (encoding.value.empty() || EqualsIgnoringCase(encoding.value, "identity"))) {
    return {};
  }
  return Refuse(Refusal::kUnsupportedEncoding, "the body is compressed, and cannot be inspected");
}

uint64_t LimitOf(const std::vector<Pair>& pairs, const Request& request) {
  const Endpoint& endpoint = *pairs[0].endpoint;
  switch (endpoint.protocol) {
    case Protocol::kRest:
    case Protocol::kWebSocket:
      return MayHideMethod(pairs, request) ? kMaxFormBytes : 0;
    case Protocol::kGraphQl:
      return endpoint.graphql.max_body_bytes;
    case Protocol::kMcp:
    case Protocol::kJsonRpc:
      return endpoint.rpc.max_body_bytes;
    case Protocol::kL4:
    case Protocol::kTcp:
    case Protocol::kSql:
      break;
  }
  return 0;
}

Verdict JudgeByProtocol(const std::vector<Pair>& pairs, const Request& request) {
  switch (pairs[0].endpoint->protocol) {
    case Protocol::kRest:
    case Protocol::kWebSocket:
      return JudgeRest(pairs, request);
    case Protocol::kGraphQl:
      return JudgeGraphQl(pairs, request);
    case Protocol::kMcp:
      return JudgeMcp(pairs, request);
    case Protocol::kJsonRpc:
      return JudgeJsonRpc(pairs, request);
    case Protocol::kL4:
    case Protocol::kTcp:
    case Protocol::kSql:
      break;
  }
  return Refuse(Refusal::kUnsupportedProtocol, "nothing inspects requests of this protocol");
}

Verdict Judge(const std::vector<Pair>& pairs, const Request& request) {
  const Protocol protocol = pairs[0].endpoint->protocol;
  Verdict verdict = CheckMethod(request.method);
  if (verdict.allowed()) verdict = CheckSlash(pairs, request.path);
  if (verdict.allowed()) verdict = CheckUpgrade(request, protocol);
  if (verdict.allowed()) verdict = CheckBody(request, LimitOf(pairs, request));
  return verdict.allowed() ? JudgeByProtocol(pairs, request) : verdict;
}

// ── the answer ──

std::string ReasonOf(const Connection& connection, const Verdict& verdict) {
  const std::string program =
      connection.program.known ? Shown(connection.program.path) : "a program that is not known";
  return program + ", to " + BeforePort(Shown(connection.host)) + ":" +
         std::to_string(connection.port) + ": " + verdict.reason;
}

Decision DecisionOf(const Connection& connection, std::vector<Pair> pairs, const Verdict& verdict) {
  Decision out{.allowed = verdict.allowed(), .pairs = std::move(pairs)};
  out.inspected = !out.pairs.empty() && IsInspected(out.pairs[0].endpoint->protocol);
  if (out.allowed) return out;
  out.refusal = verdict.refusal;
  out.reason = ReasonOf(connection, verdict);
  if (verdict.missing != Matcher{} && !out.pairs.empty()) {
    out.rule_missing = SmallestGrant(connection, out.pairs[0].endpoint, &verdict.missing);
  }
  const bool audit = std::all_of(out.pairs.begin(), out.pairs.end(), [](const Pair& pair) {
    return pair.endpoint->enforcement == Enforcement::kAudit;
  });
  out.audited = verdict.kind == Verdict::Kind::kDeny && audit && !out.pairs.empty();
  out.allowed = out.audited;
  return out;
}

}  // namespace

std::vector<Pair> PairsFor(const std::vector<Pair>& pairs, const std::string& path) {
  std::vector<Pair> best;
  Particular particular = Particular::kWhole;
  for (const Pair& pair : pairs) {
    const std::string& pattern = pair.endpoint->path;
    const Particular this_one = ParticularityOf(pattern);
    const bool is_whole = this_one == Particular::kWhole;
    if (this_one < particular || (!is_whole && !PathMatches(pattern, path))) continue;
    if (this_one > particular) best.clear();
    particular = this_one;
    best.push_back(pair);
  }
  return best;
}

uint64_t BodyLimit(const std::vector<Pair>& pairs, const Request& request) {
  const std::vector<Pair> chosen = PairsFor(InspectedOf(pairs), request.path);
  return chosen.empty() ? 0 : LimitOf(chosen, request);
}

Decision DecideRequest(const Connection& connection, const std::vector<Pair>& pairs,
                       const Request& request) {
  const std::vector<Pair> inspected = InspectedOf(pairs);
  if (inspected.empty() && !pairs.empty()) return DecisionOf(connection, pairs, {});
  if (!IsCanonical(request)) {
    return DecisionOf(
        connection, {},
        Refuse(Refusal::kMalformed, "the path `" + Shown(request.path) + "` is not canonical"));
  }
  std::vector<Pair> chosen = PairsFor(inspected, request.path);
  if (chosen.empty()) {
    return DecisionOf(
        connection, {},
        Refuse(Refusal::kPolicyDenied, "no endpoint is for the path " + Shown(request.path)));
  }
  if (!AgreeOnProtocol(chosen)) {
    return DecisionOf(
        connection, {},
        Refuse(Refusal::kPolicyDenied, "the endpoints " + chosen.front().endpoint->key +
                                           " and others have different protocols"));
  }
  const Verdict verdict = Judge(chosen, request);
  return DecisionOf(connection, std::move(chosen), verdict);
}

Decision DecideMessage(const Connection& connection, const std::vector<Pair>& pairs,
                       const Request& upgrade, const std::string& text) {
  std::vector<Pair> chosen = PairsFor(pairs, upgrade.path);
  const bool websocket = !chosen.empty() && AgreeOnProtocol(chosen) &&
                         chosen[0].endpoint->protocol == Protocol::kWebSocket;
  if (!websocket) {
    return DecisionOf(connection, {},
                      Refuse(Refusal::kPolicyDenied,
                             "no endpoint of protocol websocket is for the "
                             "path " +
                                 Shown(upgrade.path)));
  }
  Verdict verdict;
  if (!HasOperationRules(chosen)) {
    verdict = JudgeMethod(chosen, upgrade, kWebSocketText);
  } else if (text.size() > chosen[0].endpoint->graphql.max_body_bytes) {
    verdict = Refuse(Refusal::kBodyTooLarge, "the message is longer than graphql_max_body_bytes");
  } else {
    verdict = JudgeGraphQlMessage(chosen, upgrade, text);
  }
  return DecisionOf(connection, std::move(chosen), verdict);
}

}  // namespace odyssey::egress
