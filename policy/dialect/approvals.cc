#include "policy/dialect/approvals.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "policy/model/tool_table.h"
#include "policy/rules/network_rules.h"
#include "policy/rules/tool_rules.h"

namespace odyssey::dialect {
namespace {

constexpr char kEveryTool[] = "*";

// Of the tools that are offered, those that the rule speaks of; of a rule about destinations the
// one whose commands connect.
std::vector<std::string> ToolsFor(const rules::Rule& rule,
                                  const std::vector<std::string>& offered) {
  if (rules::IsOfNetwork(rule)) return ToolsFor({rule.action, policy::kBash, {}, {}}, offered);
  std::vector<std::string> out;
  std::copy_if(offered.begin(), offered.end(), std::back_inserter(out),
               [&](const std::string& tool) { return policy::RuleSpeaksOf(rule.tool, tool); });
  return out;
}

bool Has(const std::vector<std::string>& tools, const char* tool) {
  return std::find(tools.begin(), tools.end(), tool) != tools.end();
}

}  // namespace

std::vector<Approval> ApprovalsOf(const Bundle& bundle, const AgentSpec& agent) {
  std::vector<Approval> out;
  const Result<rules::ToolRules> parsed =
      rules::Parse(agent.tools.allow, agent.tools.ask, agent.tools.deny, agent.tools.risk);
  if (!parsed.ok()) return out;  // a bundle that was read has none such
  const std::vector<std::string> offered =
      rules::SelectTools(ToolsOf(bundle, agent), policy::ToolNames(), *parsed);

  bool every_line = false;  // of Bash is asked about by a rule
  size_t entry = 0;
  for (const rules::Rule& rule : parsed->rules) {
    if (rule.action != rules::Verdict::kAsk) continue;
    const Place* place = agent.origins.Find("tools.ask[" + std::to_string(entry++) + "]");
    Approval approval{agent.id, rule.text, ToolsFor(rule, offered), {}, {}};
    if (approval.tools.empty()) continue;
    if (place != nullptr) approval.place = *place;
    const bool every_call = !rule.target && !rules::IsOfNetwork(rule);
    every_line = every_line || (every_call && Has(approval.tools, policy::kBash));
    out.push_back(std::move(approval));
  }
  const rules::Rule* restricting = rules::RestrictingRule(*parsed);
  if (restricting != nullptr && !every_line && Has(offered, policy::kBash)) {
    out.push_back({agent.id,
                   "",
                   {policy::kBash},
                   "commands that cannot be known beforehand, since there are rules such as " +
                       restricting->text,
                   {}});
  }
  for (const auto& [risk, verdict] : parsed->risk) {
    if (verdict != rules::Verdict::kAsk || !Has(offered, policy::kBash)) continue;
    const std::string why = "commands of the risk class " + std::string(rules::RiskName(risk));
    out.push_back({agent.id, "", {policy::kBash}, why, {}});
  }
  return out;
}

std::string ToString(const Approval& approval) {
  std::string text = "agent " + approval.agent + ": ";
  if (approval.rule.empty()) return text + approval.tools.front() + " " + approval.why;
  text += approval.rule;
  if (approval.rule == kEveryTool || approval.tools.size() > 1) {
    std::string tools;
    for (const std::string& tool : approval.tools) tools += (tools.empty() ? "" : ", ") + tool;
    text += ", that is " + tools;
  }
  const Place& place = approval.place;
  if (place.line == 0) return text;
  return text + " (" + place.file + ":" + std::to_string(place.line) + ": " + place.key + ")";
}

}  // namespace odyssey::dialect
