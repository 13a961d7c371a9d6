#include "policy/dialect/openshell_endpoint.h"

#include <algorithm>

#include "policy/dialect/openshell_budget.h"
#include "policy/dialect/openshell_credentials.h"
#include "policy/dialect/openshell_destination.h"
#include "policy/dialect/openshell_matcher.h"
#include "policy/dialect/openshell_options.h"
#include "policy/egress/names.h"
#include "policy/egress/pattern.h"

namespace odyssey::dialect::openshell {
namespace {

constexpr uint16_t kTlsPort = 443;

bool Has(const MapReader& map, std::string_view name) { return Find(*map.node(), name) != nullptr; }

egress::Tls ReadTls(MapReader* map) {
  enum class Said { kAuto, kSkip, kDeprecated };
  const Said said = map->Enum<Said>("tls",
                                    {{"auto", Said::kAuto},
                                     {"skip", Said::kSkip},
                                     {"terminate", Said::kDeprecated},
                                     {"passthrough", Said::kDeprecated}},
                                    Said::kAuto);
  if (said == Said::kDeprecated) {
    map->source().Warn(map->line(), map->KeyOf("tls"),
                       "`terminate` and `passthrough` are deprecated and do nothing: TLS is "
                       "recognised by itself; `skip` leaves it alone");
  }
  return said == Said::kSkip ? egress::Tls::kSkip : egress::Tls::kAuto;
}

void ReadEnforcement(MapReader* map, egress::Endpoint* out) {
  const bool said = Has(*map, "enforcement");
  out->enforcement = map->Enum<egress::Enforcement>("enforcement", egress::EnforcementNames(),
                                                    egress::Enforcement::kEnforce);
  if (out->protocol != egress::Protocol::kSql) return;
  if (said && out->enforcement == egress::Enforcement::kEnforce) {
    map->source().Invalid(map->line(), map->KeyOf("enforcement"),
                          "protocol sql can only be audited: `enforcement: audit`");
  }
  if (!said) {
    map->source().Warn(map->line(), map->key(),
                       "protocol sql can only be audited; say so with `enforcement: audit`");
    out->enforcement = egress::Enforcement::kAudit;
  }
}

// What only the original's gateway sets.
void RefuseInternal(MapReader* map) {
  for (const char* name : {"advisor_proposed", "provider_credentialed"}) {
    const Node* node = map->Any(name);
    if (node == nullptr) continue;
    map->source().Invalid(node->line, map->KeyOf(name), "is internal: a file cannot set it");
  }
}

// Of a protocol that is not looked into: nothing to allow or deny request by request.
void CheckUninspected(MapReader* map, const egress::Endpoint& endpoint) {
  const Source& source = map->source();
  for (const char* name : {"rules", "deny_rules"}) {
    const Node* node = map->Any(name);
    if (node == nullptr) continue;
    source.Invalid(node->line, map->KeyOf(name),
                   "needs an inspected protocol: without one no proxy sees requests");
  }
  const bool restricts = endpoint.access != egress::AccessLevel::kByRules &&
                         (endpoint.access != egress::AccessLevel::kFull ||
                          endpoint.protocol == egress::Protocol::kTcp);
  if (restricts) {
    source.Invalid(map->line(), map->KeyOf("access"),
                   "needs an inspected protocol: without one no proxy sees requests");
  }
  if (endpoint.protocol == egress::Protocol::kTcp &&
      (endpoint.host.empty() || egress::IsAddress(endpoint.host))) {
    source.Invalid(map->line(), map->KeyOf("host"),
                   "protocol tcp needs the name of a host, which it resolves for the program");
  }
}

// `access`, `rules` and `deny_rules` of an inspected protocol.
void CheckInspected(const MapReader& map, const egress::Endpoint& endpoint) {
  const Source& source = map.source();
  const bool access = endpoint.access != egress::AccessLevel::kByRules;
  const bool rules = Has(map, "rules");
  const bool known = endpoint.rpc.allow_all_known_methods;
  const bool rpc = endpoint.protocol == egress::Protocol::kMcp ||
                   endpoint.protocol == egress::Protocol::kJsonRpc;
  if (access && rules) {
    source.Invalid(map.line(), map.KeyOf("access"), "and `rules` exclude each other: give one");
  }
  if (access && rpc) {
    source.Invalid(map.line(), map.KeyOf("access"),
                   "does not go with protocol " +
                       egress::NameOf(endpoint.protocol, egress::ProtocolNames()) +
                       ", which has `rules`");
  }
  if (!access && !rules && !known) {
    const std::string what = rpc ? "`rules`" : "`access` or `rules`";
    source.Invalid(map.line(), map.KeyOf("protocol"),
                   egress::NameOf(endpoint.protocol, egress::ProtocolNames()) + " needs " + what +
                       ": without them it allows nothing");
    if (Has(map, "deny_rules")) {
      source.Invalid(map.line(), map.KeyOf("deny_rules"),
                     "takes away from `access` or `rules`, and there is neither");
    }
  }
  const auto& ports = endpoint.ports;
  const bool tls_port = std::find(ports.begin(), ports.end(), kTlsPort) != ports.end();
  if (endpoint.tls == egress::Tls::kSkip && tls_port) {
    source.Invalid(map.line(), map.KeyOf("tls"),
                   "`skip` leaves port 443 encrypted, and protocol " +
                       egress::NameOf(endpoint.protocol, egress::ProtocolNames()) +
                       " could not be inspected");
  }
}

}  // namespace

egress::Endpoint ReadEndpoint(MapReader map) {
  egress::Endpoint out{.line = map.line(), .key = map.key()};
  out.protocol =
      map.Enum<egress::Protocol>("protocol", egress::ProtocolNames(), egress::Protocol::kL4);
  ReadDestination(&map, &out);
  out.tls = ReadTls(&map);
  ReadEnforcement(&map, &out);
  out.access =
      map.Enum<egress::AccessLevel>("access", egress::AccessNames(), egress::AccessLevel::kByRules);
  ReadOptions(&map, &out);
  ReadCredentials(&map, &out);
  out.budget = ReadBudget(map.Map("budget"));
  if (egress::IsInspected(out.protocol)) {
    ReadMatchers(&map, &out);
    CheckInspected(map, out);
  } else {
    CheckUninspected(&map, out);
  }
  RefuseInternal(&map);
  map.Finish();
  return out;
}

}  // namespace odyssey::dialect::openshell
