#ifndef ODYSSEY_AGENTD_APPROVAL_GATE_H_
#define ODYSSEY_AGENTD_APPROVAL_GATE_H_

// May this call run now, must a person be asked, or is it refused. Pure.

#include <string>

#include "policy/rules/tool_rules.h"

namespace odyssey::approval {

struct Verdict {
  rules::Verdict kind = rules::Verdict::kAllow;
  std::string rule;     // of kAsk: as written
  std::string scope;    // of kAsk: what "always" would allow, as shown
  std::string message;  // of kDeny: for the model
  rules::RiskClass risk = rules::RiskClass::kSafe;
  friend bool operator==(const Verdict&, const Verdict&) = default;
};

// `granted`: whether the session has been granted the decision's scope.
Verdict Judge(const rules::Decision& decision, bool granted);

// Of a call that asks for more than its cell has: a person is asked even where a rule, or an
// earlier "always", allows the call. A rule that denies it still does. There is nothing to allow
// always.
Verdict JudgeWithGrants(const rules::Decision& decision);

// What the model reads when a person said no: "permission denied: tool Write was denied", with the
// note if there is one. `rule` is the one that asked; "", because none could judge the call, and
// the tool is named.
std::string DeniedMessage(const std::string& tool, const std::string& rule,
                          const std::string& note);

}  // namespace odyssey::approval

#endif  // ODYSSEY_AGENTD_APPROVAL_GATE_H_
