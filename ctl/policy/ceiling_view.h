#ifndef ODYSSEY_CTL_POLICY_CEILING_VIEW_H_
#define ODYSSEY_CTL_POLICY_CEILING_VIEW_H_

// The operator's ceiling for people and for -o json.

#include <vector>

#include "ctl/base/console.h"
#include "policy/answer/answer.h"
#include "policy/ceiling/ceiling.h"

namespace odyssey::ctl {

// A line each: where it comes from, its rules, and by which of them each thing that was asked for
// is granted.
void PrintCeiling(const Console& console, const ceiling::Owner& owner,
                  const answer::CeilingText& ceiling, const std::vector<answer::Granted>& granted);
Json CeilingAsJson(const ceiling::Owner& owner, const answer::CeilingText& ceiling,
                   const std::vector<answer::Granted>& granted);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_POLICY_CEILING_VIEW_H_
