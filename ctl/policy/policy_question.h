#ifndef ODYSSEY_CTL_POLICY_POLICY_QUESTION_H_
#define ODYSSEY_CTL_POLICY_POLICY_QUESTION_H_

// What `policy check` is asked, and its answer.

#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "ctl/base/command.h"
#include "ctl/policy/policy_asker.h"
#include "policy/dialect/bundle.h"
#include "policy/dialect/policy.h"
#include "policy/egress/reach.h"
#include "policy/rules/tool_rules.h"

namespace odyssey::ctl {

// Borrowed.
struct PolicyQuestion {
  const Invocation& call;
  const dialect::Policy& policy;  // that of the command's first word
  const PolicyAsker& asker;
  const std::optional<dialect::Policy>& within;           // that of --within
  const std::optional<egress::Destination>& destination;  // that of --host
};

struct PolicyAnswer {
  rules::Decision decision;
  dialect::Problems problems;  // what is refused of the file, where it is written
  AnsweredBy by;
  std::vector<rules::Part> parts = {};  // of a command line, by the rules of an agent
};

// INVALID_ARGUMENT for a path that cannot be asked about: not absolute, or with "..".
Status CheckAskedPath(const std::string& path);

// For the host that this runs on and the asker's user. An error is a question that cannot be asked
// of such a file, or what is wrong with it for every host.
// `by` says who answered, also beside an error.
Result<PolicyAnswer> AnswerOf(const PolicyQuestion& question, AnsweredBy* by);

// By the rules of an agent whose file is part of no bundle: for its commands alone.
// INVALID_ARGUMENT if `agent_id` is another agent's.
Result<PolicyAnswer> AnswerByRules(const dialect::AgentSpec& agent, const std::string& agent_id,
                                   const std::string& command);

// The answer about a path with what would allow it, in the keys of the file's dialect. Pure.
rules::Decision WithGrant(dialect::Dialect dialect, const answer::Answer& answer);

// What is compiled for a policy. On the host an agent's commands begin where its session was made:
// here, for example.
policy::SandboxRequest RequestOf(const dialect::Policy& policy);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_POLICY_POLICY_QUESTION_H_
