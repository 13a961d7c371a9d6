#include "policy/rules/excess.h"

#include <algorithm>

#include "policy/model/tool_table.h"
#include "policy/rules/network_rules.h"

namespace odyssey::rules {
namespace {

// Some call may be matched by both.
bool MayMeet(const Rule& a, const Rule& b) {
  return policy::RuleSpeaksOf(a.tool, b.tool) || policy::RuleSpeaksOf(b.tool, a.tool);
}

bool Has(const ToolRules& rules, const Rule& wanted) {
  return std::find(rules.rules.begin(), rules.rules.end(), wanted) != rules.rules.end();
}

// Granular beats coarse: the only way in which one more rule makes a verdict milder. Of the network
// what no rule speaks of is refused.
bool Loosens(const Rule& rule, const ToolRules& rules) {
  if (IsOfNetwork(rule)) return rule.action != Verdict::kDeny;
  if (!rule.target) return false;
  return std::any_of(rules.rules.begin(), rules.rules.end(), [&](const Rule& other) {
    return !other.target && other.action > rule.action && MayMeet(rule, other);
  });
}

// Whether the rules are as strict as `rule` on everything that it matches: by the same rule of at
// least its strictness, or by a coarse one which nothing granular and milder overrides.
bool IsKept(const Rule& rule, const ToolRules& rules) {
  if (IsOfNetwork(rule) && rule.action == Verdict::kAsk) return true;  // without it, refused
  const auto some = [&](auto holds) {
    return std::any_of(rules.rules.begin(), rules.rules.end(), holds);
  };
  const auto strict = [&](const Rule& other) { return other.action >= rule.action; };
  if (some([&](const Rule& other) {
        return strict(other) && other.tool == rule.tool && other.target == rule.target &&
               (other.target || rule.action == other.action);
      })) {
    return true;
  }
  const bool coarse = some([&](const Rule& other) {
    return strict(other) && !other.target && policy::RuleSpeaksOf(other.tool, rule.tool);
  });
  return coarse && !some([&](const Rule& other) {
           return other.target && !strict(other) && MayMeet(rule, other);
         });
}

}  // namespace

std::vector<std::string> Excess(const ToolRules& child, const ToolRules& parent) {
  std::vector<std::string> out;
  for (const Rule& rule : child.rules) {
    if (Has(parent, rule) || !Loosens(rule, parent)) continue;
    out.push_back(std::string(VerdictName(rule.action)) + ": " + rule.text);
  }
  for (const Rule& rule : parent.rules) {
    if (rule.action == Verdict::kAllow || IsKept(rule, child)) continue;
    out.push_back(std::string(VerdictName(rule.action)) + ": " + rule.text + " is not there");
  }
  for (const auto& [risk, verdict] : parent.risk) {
    const auto own = child.risk.find(risk);
    if (own != child.risk.end() && own->second >= verdict) continue;
    if (verdict == Verdict::kAllow) continue;
    out.push_back(std::string(VerdictName(verdict)) + ": risk " + std::string(RiskName(risk)) +
                  " is not there");
  }
  return out;
}

}  // namespace odyssey::rules
