#include "agentd/session/refused_network.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "policy/egress/pattern.h"
#include "policy/rules/network_rules.h"

namespace odyssey::session {
namespace {

using Json = nlohmann::json;

agent::v1::Grants EndpointOf(const std::string& place) {
  agent::v1::Grants out;
  agent::v1::Grant& grant = *out.add_grants();
  grant.set_key(supervisor::v1::GRANT_KEY_NETWORK_ENDPOINT);
  grant.set_value(place);
  return out;
}

}  // namespace

void RefusedNetwork::Begin(tools::ToolResult result) {
  left_.assign(result.refused.begin(), result.refused.end());
  fates_.clear();
  result_ = std::move(result);
}

// The strictest of the agent's and of those of the agents that called it, each of which must speak
// of the destination. Null: it stays refused.
const rules::Rule* RefusedNetwork::RuleFor(const tools::RefusedDestination& destination) const {
  const auto find = [&](const rules::ToolRules& rules) {
    return rules::FindNetworkRule(rules, destination.host, destination.port);
  };
  const rules::Rule* strictest = find(setup_->rules);
  for (const rules::ToolRules& bound : setup_->bounds) {
    const rules::Rule* const rule = find(bound);
    if (strictest == nullptr || rule == nullptr) return nullptr;
    if (rule->action > strictest->action) strictest = rule;
  }
  const bool stays = strictest == nullptr || strictest->action == rules::Verdict::kDeny;
  return stays ? nullptr : strictest;
}

std::optional<rules::Verdict> RefusedNetwork::Next() {
  while (!left_.empty() && fates_.size() < kMaxOpenedDestinations) {
    const tools::RefusedDestination next = std::move(left_.front());
    left_.pop_front();
    const rules::Rule* const rule = RuleFor(next);
    // Where the policy names it, its endpoint lists the programs that may connect.
    if (rule == nullptr || cell_->NamesDestination(next.host, next.port)) continue;
    const std::string place = egress::BeforePort(next.host) + ":" + std::to_string(next.port);
    if (!seen_.insert(place).second) continue;
    rule_ = rule->text;
    wanted_ = {EndpointOf(place), next.why};
    const Result<agent::v1::Grants> beyond = cell_->BeyondNetwork(wanted_.grants);
    if (beyond.ok()) return rule->action;
    StaysRefused(beyond.status().message());
  }
  return std::nullopt;
}

void RefusedNetwork::Opened(const std::string& until) {
  fates_.push_back({wanted_.grants.grants(0).value(), true, until});
}

void RefusedNetwork::StaysRefused(const std::string& why) {
  fates_.push_back({wanted_.grants.grants(0).value(), false, why});
}

tools::ToolResult RefusedNetwork::TakeResult() {
  tools::ToolResult out = *std::exchange(result_, std::nullopt);
  if (fates_.empty()) return out;
  Json json = Json::parse(out.json);
  for (const Fate& fate : fates_) {
    Json told = {{"destination", fate.destination}, {"reachable", fate.reachable}};
    told[fate.reachable ? "until" : "why"] = fate.words;
    if (fate.reachable) told["then"] = "run the command again";
    json["network"].push_back(std::move(told));
  }
  out.json = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  return out;
}

}  // namespace odyssey::session
