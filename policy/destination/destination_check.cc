#include "policy/destination/destination_check.h"

#include <string>
#include <vector>

#include "policy/rules/network_rules.h"

namespace odyssey::destination {
namespace {

using egress::Destination;
using egress::Match;
using egress::MatchKind;

std::string PlaceOf(const Match& match, const dialect::Origins& origins) {
  const dialect::Place* network = origins.Find("network");
  const std::string file = network == nullptr ? "" : network->file + ":";
  return file + std::to_string(match.endpoint->line) + ": " + match.endpoint->key;
}

// What the endpoint does with the destination: "allows it (…, for /usr/bin/curl)".
std::string Verb(const Match& match, const Destination& destination) {
  if (match.rule->binaries.empty()) return "allows it to no program";
  switch (match.kind) {
    case MatchKind::kNamed:
      return "allows it";
    case MatchKind::kIfInRange:
      return "allows it if the name leads into its allowed_ips";
    case MatchKind::kPrivate:
      return "refuses it: it has a pattern of hosts, which opens no private network, and no "
             "allowed_ips; " +
             destination.is_private;
    case MatchKind::kOtherPort:
      break;
  }
  return "names the host with other ports";
}

bool Allows(const Match& match) {
  const bool open = match.kind == MatchKind::kNamed || match.kind == MatchKind::kIfInRange;
  return open && !match.rule->binaries.empty();
}

}  // namespace

rules::Decision DecideByEndpoints(const egress::NetworkPolicy& policy,
                                  const dialect::Origins& origins, const Destination& destination) {
  rules::Decision out{.verdict = rules::Verdict::kDeny, .rule = "network egress"};
  if (!destination.never.empty()) {
    out.reason = "closed whatever a policy says: " + destination.never;
    return out;
  }
  const std::vector<Match> matches = MatchesOf(policy, destination);
  bool some = false;
  std::string told;
  for (const Match& match : matches) {
    some = some || Allows(match);
    told += (told.empty() ? "" : "; ") + PlaceOf(match, origins) + " " + Verb(match, destination) +
            " (" + Describe(*match.rule, *match.endpoint) + ")";
  }
  if (matches.empty()) told = "no endpoint names it";
  if (some) out.verdict = rules::Verdict::kAllow;
  out.reason = some ? "an endpoint lets it through: " + told
                    : "the endpoints refuse it to every program: " + told;
  return out;
}

rules::Decision DecideByNetworkRules(const rules::ToolRules& rules,
                                     const egress::NetworkPolicy& policy,
                                     const Destination& destination, rules::Decision refused) {
  const bool settled = refused.verdict == rules::Verdict::kAllow || !destination.never.empty();
  if (settled || NamesDestination(policy, destination)) return refused;
  const rules::Rule* const rule = rules::FindNetworkRule(rules, destination.host, destination.port);
  if (rule == nullptr) return refused;
  refused.verdict = rule->action;
  refused.rule = rule->text;
  if (rule->action == rules::Verdict::kAsk)
    refused.reason += "; a person is asked when it is refused";
  if (rule->action == rules::Verdict::kAllow) refused.reason += "; it is opened when it is refused";
  return refused;
}

}  // namespace odyssey::destination
