#ifndef ODYSSEY_CTL_POLICY_GRANT_WORDS_H_
#define ODYSSEY_CTL_POLICY_GRANT_WORDS_H_

#include <string>

#include "policy/dialect/policy.h"
#include "policy/explain/explain.h"

namespace odyssey::ctl {

// A grant of explain::Answer, which is written as a manifest has it, in the keys of a dialect; ""
// if that has none for it. Pure.
std::string GrantIn(dialect::Dialect dialect, const explain::Grant& grant);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_POLICY_GRANT_WORDS_H_
