#include "ctl/policy/destination_check.h"

#include <string>
#include <vector>

namespace odyssey::ctl {
namespace {

using egress::Destination;
using egress::Match;
using egress::MatchKind;

std::string PlaceOf(const Match& match, const dialect::Policy& policy) {
  const dialect::Place* network = policy.origins.Find("network");
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

rules::Decision DecideByEndpoints(const dialect::Policy& policy, const Destination& destination) {
  rules::Decision out{.verdict = rules::Verdict::kDeny, .rule = "network egress"};
  if (!destination.never.empty()) {
    out.reason = "closed whatever a policy says: " + destination.never;
    return out;
  }
  const std::vector<Match> matches = MatchesOf(policy.request.egress, destination);
  bool some = false;
  std::string told;
  for (const Match& match : matches) {
    some = some || Allows(match);
    told += (told.empty() ? "" : "; ") + PlaceOf(match, policy) + " " + Verb(match, destination) +
            " (" + Describe(*match.rule, *match.endpoint) + ")";
  }
  if (matches.empty()) told = "no endpoint names it";
  if (some) out.verdict = rules::Verdict::kAllow;
  out.reason = some ? "an endpoint lets it through: " + told
                    : "the endpoints refuse it to every program: " + told;
  return out;
}

}  // namespace odyssey::ctl
