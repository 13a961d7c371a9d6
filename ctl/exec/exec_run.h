#ifndef ODYSSEY_CTL_EXEC_EXEC_RUN_H_
#define ODYSSEY_CTL_EXEC_EXEC_RUN_H_

// One command in a cell, as its options say: what `exec` does, and the verbs that are made of it.

#include "ctl/base/console.h"
#include "ctl/file/named_place.h"
#include "ctl/policy/exec_options.h"
#include "ctl/policy/policy_asker.h"

namespace odyssey::ctl {

// Returns the exit code: the command's own, or kExitCannot and a report on stderr. `places` keeps
// what the options name open until the cell is made. Caller must be single-threaded.
int RunExec(const Console& console, const PolicyAsker& asker, ExecOptions options,
            NamedPlaces* places);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_EXEC_EXEC_RUN_H_
