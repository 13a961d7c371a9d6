#ifndef ODYSSEY_CTL_POLICY_POLICY_JSON_H_
#define ODYSSEY_CTL_POLICY_POLICY_JSON_H_

// What is said of a policy, for -o json: one object on stdout, whatever the answer is. Pure.

#include <string>

#include "common/base/status.h"
#include "ctl/base/console.h"
#include "policy/answer/answer.h"
#include "policy/dialect/origin.h"
#include "policy/dialect/problem.h"

namespace odyssey::ctl {

// {file, line, key, message} of each; no line is 0, no file or key "".
Json ProblemsAsJson(const dialect::Problems& problems);

// What the status refuses, where the origins know it to be written; else of the file as a whole.
dialect::Problems ProblemsOf(const Status& status, const dialect::Origins& origins,
                             const std::string& file);

// The verdict where there is no answer, because of the problems.
inline constexpr char kInvalid[] = "invalid";
// "allow"; "deny" for what is refused here; kInvalid for what would be wrong everywhere.
std::string VerdictName(answer::Verdict verdict);

// The keys that every answer has.
struct Answer {
  std::string verdict;
  std::string rule;
  std::string reason;
  dialect::Problems problems;
  dialect::Problems warnings;
};
Json AnswerAsJson(const Answer& answer);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_POLICY_POLICY_JSON_H_
