#ifndef ODYSSEY_POLICY_DIFFERENCE_SHELL_RULES_H_
#define ODYSSEY_POLICY_DIFFERENCE_SHELL_RULES_H_

#include "policy/dialect/llm_do_worker.h"
#include "policy/difference/difference.h"

namespace odyssey::difference {

// The shell rules of two workers, by what they say of every command: the first rule whose words the
// command begins with, and whose paths hold all its arguments, decides; else the default. Pure.
Difference CompareShellRules(const dialect::llm_do::Worker& first,
                             const dialect::llm_do::Worker& second);

}  // namespace odyssey::difference

#endif  // ODYSSEY_POLICY_DIFFERENCE_SHELL_RULES_H_
