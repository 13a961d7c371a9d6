#include "policy/rules/network_rules.h"

#include <tuple>

#include "policy/egress/glob.h"
#include "policy/egress/pattern.h"
#include "policy/egress/reach.h"

namespace odyssey::rules {
namespace {

bool IsFor(const Rule& rule, const std::string& host, uint16_t port) {
  if (!IsOfNetwork(rule)) return false;
  if (!rule.target) return true;
  const Result<egress::Destination> target = egress::ParseDestinationPattern(*rule.target);
  if (!target.ok() || (target->port != 0 && target->port != port)) return false;
  return target->host == egress::kEveryHost || egress::HostMatches(target->host, host);
}

}  // namespace

Status CheckNetworkRule(const Rule& rule) {
  const bool allows = rule.action == Verdict::kAllow;
  if (!rule.target) {
    return allows ? InvalidArgument("an allow rule of Network names one host") : OkStatus();
  }
  ODY_ASSIGN_OR_RETURN(const egress::Destination target,
                       egress::ParseDestinationPattern(*rule.target));
  if (!target.never.empty()) return InvalidArgument("no policy opens it: " + target.never);
  if (!allows || !egress::IsHostPattern(target.host)) return OkStatus();
  return InvalidArgument(
      "an allow rule of Network names one host; patterns are for ask and deny, and for endpoints "
      "of network_policies");
}

const Rule* FindNetworkRule(const ToolRules& rules, const std::string& host, uint16_t port) {
  const auto rank = [](const Rule& rule) {
    return std::tuple(rule.target.has_value(), rule.action);
  };
  const Rule* found = nullptr;
  for (const Rule& rule : rules.rules) {
    if (!IsFor(rule, host, port)) continue;
    if (found == nullptr || rank(rule) >= rank(*found)) found = &rule;
  }
  return found;
}

Result<bool> FitsDestination(const Rule& rule, const std::string& example) {
  ODY_ASSIGN_OR_RETURN(const egress::Destination to, egress::ParseReachable(example));
  return IsFor(rule, to.host, to.port);
}

}  // namespace odyssey::rules
