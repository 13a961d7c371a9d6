#ifndef ODYSSEY_CTL_EXPLAIN_H_
#define ODYSSEY_CTL_EXPLAIN_H_

#include <string>

#include "common/base/status.h"
#include "ctl/ceiling_view.h"
#include "ctl/console.h"
#include "ctl/locations.h"
#include "policy/dialect/policy.h"
#include "policy/model/request.h"

namespace odyssey::ctl {

// Holds the request against the operator's ceiling, compiles it for this host and prints the plan,
// each line with why it is there, and the ceiling. Makes no cell and asks no daemon; the supervisor
// does the same with the same request. Before it, what the policy's file is and what of it is no
// part of a cell; nullptr: there was no file. With danger_full_access also what else that needs,
// and all of this even if the ceiling refuses it, which is an error then. Errors name fields of the
// request: whoever asks knows where they were written (dialect::Origins).
Status PrintPlan(const Console& console, policy::SandboxRequest request, const CeilingView& ceiling,
                 const Locations& locations, const dialect::Policy* policy);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_EXPLAIN_H_
