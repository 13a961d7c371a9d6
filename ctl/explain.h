#ifndef ODYSSEY_CTL_EXPLAIN_H_
#define ODYSSEY_CTL_EXPLAIN_H_

#include <string>

#include "common/base/status.h"
#include "ctl/console.h"
#include "policy/model/request.h"

namespace odyssey::ctl {

// Compiles the request for this host and prints the plan, each line with why it is there. Makes no
// cell and asks no daemon; the supervisor compiles the same request the same way.
Status PrintPlan(const Console& console, const policy::SandboxRequest& request,
                 const std::string& state);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_EXPLAIN_H_
