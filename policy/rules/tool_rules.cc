#include "policy/rules/tool_rules.h"

#include <algorithm>
#include <set>

#include "policy/model/tool_table.h"
#include "policy/rules/network_rules.h"

namespace odyssey::rules {
namespace {

std::string_view Trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

Status ParseInto(std::string_view label, Verdict action, const std::vector<std::string>& entries,
                 ToolRules* rules) {
  for (const std::string& entry : entries) {
    if (rules->rules.size() >= kMaxRules) {
      return InvalidArgument("invalid tool permission rules: more than " +
                             std::to_string(kMaxRules) + " entries");
    }
    Result<Rule> rule = ParseRule(label, action, entry);
    if (!rule.ok()) {
      return InvalidArgument("invalid tool permission rule `" + entry +
                             "`: " + rule.status().message());
    }
    rules->rules.push_back(std::move(rule).value());
  }
  return OkStatus();
}

// Of an entry that is whole.
Result<Rule> Checked(Rule rule, const std::string& quoted) {
  if (!IsOfNetwork(rule)) return rule;
  const Status fits = CheckNetworkRule(rule);
  if (!fits.ok()) return InvalidArgument(quoted + ": " + fits.message());
  return rule;
}

// Whether the rule names what the model is to have.
bool Offers(const Rule& rule) { return rule.action != Verdict::kDeny && !IsOfNetwork(rule); }

bool IsDeniedAsWhole(const ToolRules& rules, std::string_view tool) {
  return std::any_of(rules.rules.begin(), rules.rules.end(), [&](const Rule& rule) {
    return !Offers(rule) && !rule.target && policy::RuleSpeaksOf(rule.tool, tool);
  });
}

}  // namespace

std::string_view VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kAllow:
      return "allow";
    case Verdict::kAsk:
      return "ask";
    case Verdict::kDeny:
      return "deny";
  }
  return "deny";
}

std::optional<Verdict> FindVerdict(std::string_view name) {
  for (const Verdict verdict : {Verdict::kAllow, Verdict::kAsk, Verdict::kDeny}) {
    if (VerdictName(verdict) == name) return verdict;
  }
  return std::nullopt;
}

Result<Rule> ParseRule(std::string_view label, Verdict action, std::string_view entry) {
  const std::string where(label);
  const std::string_view text = Trim(entry);
  if (text.empty()) return InvalidArgument(where + " entries cannot be empty");
  const std::string quoted = where + " entry `" + std::string(text.substr(0, 200)) + "`";
  if (text.size() > kMaxRuleBytes) {
    return InvalidArgument(quoted + " is longer than " + std::to_string(kMaxRuleBytes) + " bytes");
  }

  const size_t open = text.find('(');
  if (open == std::string_view::npos) {
    if (text.find(')') != std::string_view::npos) {
      return InvalidArgument(quoted + " has an unmatched closing parenthesis");
    }
    return Checked({action, std::string(text), std::nullopt, std::string(text)}, quoted);
  }
  const std::string_view tool = Trim(text.substr(0, open));
  if (tool.find(')') != std::string_view::npos) {
    return InvalidArgument(quoted + " has an unmatched closing parenthesis");
  }
  if (tool.empty()) return InvalidArgument(quoted + " is missing a tool name");
  if (text.back() != ')') {
    return InvalidArgument(quoted + " must end with `)` when using a granular matcher");
  }
  const std::string_view target = text.substr(open + 1, text.size() - open - 2);
  if (Trim(target).empty()) return InvalidArgument(quoted + " is missing a matcher target");
  if (target.find('(') != std::string_view::npos) {
    return InvalidArgument(quoted + " cannot contain nested parentheses");
  }
  if (target.find(')') != std::string_view::npos) {
    return InvalidArgument(quoted + " has an unmatched closing parenthesis");
  }
  if (tool == "*") {
    return InvalidArgument(quoted + " cannot have a matcher target for every tool: name the tool");
  }
  return Checked({action, std::string(tool), std::string(target), std::string(text)}, quoted);
}

Result<ToolRules> Parse(const std::vector<std::string>& allow, const std::vector<std::string>& ask,
                        const std::vector<std::string>& deny,
                        const std::map<std::string, std::string>& risk) {
  ToolRules rules;
  for (const auto& [name, verdict] : risk) {
    const std::optional<RiskClass> known = FindRisk(name);
    const std::optional<Verdict> opinion = FindVerdict(verdict);
    if (!known || !opinion) {
      return InvalidArgument("invalid agent.tools.risk entry `" + name + ": " + verdict + "`");
    }
    rules.risk.emplace(*known, *opinion);
  }
  ODY_RETURN_IF_ERROR(ParseInto("agent.tools.allow", Verdict::kAllow, allow, &rules));
  ODY_RETURN_IF_ERROR(ParseInto("agent.tools.ask", Verdict::kAsk, ask, &rules));
  ODY_RETURN_IF_ERROR(ParseInto("agent.tools.deny", Verdict::kDeny, deny, &rules));
  return rules;
}

bool IsOffered(const ToolRules& rules, const std::string& tool) {
  const auto some = [&](auto holds) {
    return std::any_of(rules.rules.begin(), rules.rules.end(), holds);
  };
  const auto speaks = [&](const Rule& rule) { return policy::RuleSpeaksOf(rule.tool, tool); };
  if (IsDeniedAsWhole(rules, tool)) return false;
  return !some(Offers) || some([&](const Rule& rule) { return Offers(rule) && speaks(rule); });
}

std::vector<std::string> SelectTools(const std::vector<std::string>& manifest_tools,
                                     const std::vector<std::string>& registry,
                                     const ToolRules& rules) {
  std::set<std::string> selected;
  for (const std::string& tool : manifest_tools.empty() ? registry : manifest_tools) {
    if (std::find(registry.begin(), registry.end(), tool) == registry.end()) continue;
    if (IsOffered(rules, tool)) selected.insert(tool);
  }
  for (const policy::ToolRow& row : policy::kTools) {
    if (row.comes_with == nullptr) continue;
    const bool known = std::find(registry.begin(), registry.end(), row.name) != registry.end();
    const bool denied = IsDeniedAsWhole(rules, row.name);
    if (known && !denied && selected.count(row.comes_with) != 0) {
      selected.insert(row.name);
    } else {
      selected.erase(row.name);
    }
  }
  return {selected.begin(), selected.end()};
}

}  // namespace odyssey::rules
