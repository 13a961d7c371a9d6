#ifndef ODYSSEY_CTL_POLICY_QUESTION_H_
#define ODYSSEY_CTL_POLICY_QUESTION_H_

// What `policy check` is asked, and its answer.

#include <optional>
#include <string>

#include "common/base/status.h"
#include "ctl/ceiling_view.h"
#include "ctl/command.h"
#include "policy/dialect/openshell_reach.h"
#include "policy/dialect/policy.h"
#include "policy/rules/tool_rules.h"

namespace odyssey::ctl {

// Borrowed.
struct PolicyQuestion {
  const Invocation& call;
  const dialect::Policy& policy;  // that of the command's first word
  const CeilingView& ceiling;
  const std::optional<dialect::Policy>& within;                       // that of --within
  const std::optional<dialect::openshell::Destination>& destination;  // that of --host
};

struct PolicyAnswer {
  rules::Decision decision;
  dialect::Problems problems;  // what is refused of the file, where it is written
};

// For the host that this runs on and the user of the ceiling. An error is a question that cannot be
// asked of such a file, or what is wrong with it for every host.
Result<PolicyAnswer> AnswerOf(const PolicyQuestion& question);

// What is compiled for a policy. On the host an agent's commands begin where its session was made:
// here, for example.
policy::SandboxRequest RequestOf(const dialect::Policy& policy);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_POLICY_QUESTION_H_
