#ifndef ODYSSEY_CTL_DOCTOR_PROBE_COMMAND_H_
#define ODYSSEY_CTL_DOCTOR_PROBE_COMMAND_H_

#include "ctl/base/command.h"

namespace odyssey::ctl {

// `doctor --probe`: returns the exit code.
int ProbeCommand(const Invocation& call);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_DOCTOR_PROBE_COMMAND_H_
