#include "agentd/approval/gate.h"

namespace odyssey::approval {

Verdict Judge(const rules::Decision& decision, bool granted) {
  switch (decision.verdict) {
    case rules::Verdict::kDeny:
      return {rules::Verdict::kDeny, decision.rule, "",
              "permission denied: tool " + decision.rule + " is denied" +
                  (decision.reason.empty() ? "" : " (" + decision.reason + ")")};
    case rules::Verdict::kAsk:
      if (granted) return {};
      return {rules::Verdict::kAsk, decision.rule, decision.scope, "", decision.risk};
    case rules::Verdict::kAllow:
      return {};
  }
  return {rules::Verdict::kDeny, "", "", "permission denied: unknown verdict"};
}

Verdict JudgeWithGrants(const rules::Decision& decision) {
  if (decision.verdict == rules::Verdict::kDeny) return Judge(decision, false);
  const bool rule_asks = decision.verdict == rules::Verdict::kAsk;
  return {rules::Verdict::kAsk, rule_asks ? decision.rule : "", "", "", decision.risk};
}

std::string DeniedMessage(const std::string& tool, const std::string& rule,
                          const std::string& note) {
  return "permission denied: tool " + (rule.empty() ? tool : rule) + " was denied" +
         (note.empty() ? "" : ": " + note);
}

}  // namespace odyssey::approval
