#ifndef ODYSSEY_CTL_POLICY_OPTION_WORDS_H_
#define ODYSSEY_CTL_POLICY_OPTION_WORDS_H_

// What a denial needs, in what a person types: the options of `exec`.

#include <string>

#include "odyssey/supervisor/v1/supervisor.pb.h"
#include "policy/model/request.h"

namespace odyssey::ctl {

// "--network full", "--memory 1g"; where `exec` has no option for it, the key and that a policy
// file carries it; "" if nothing would allow it. `mode`: of the cell, which decides what makes a
// program executable. Pure.
std::string GrantAsOption(const supervisor::v1::Denial& denial, policy::ExecutablesMode mode);

// The value of a limit as its option takes it.
std::string LimitAsOption(std::string_view field, uint64_t value);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_POLICY_OPTION_WORDS_H_
