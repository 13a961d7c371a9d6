#ifndef ODYSSEY_SUPERVISOR_CELL_INIT_INHERITED_ATTRIBUTES_H_
#define ODYSSEY_SUPERVISOR_CELL_INIT_INHERITED_ATTRIBUTES_H_

// Priorities and resource limits: what every process hands down to those it starts.

#include <string_view>

#include "common/base/status.h"

namespace odyssey::cell_init {

// Gives up what the supervisor may have and no command shall: real time, a better priority than
// the default, for the processor and for disks, and the rlimits that would allow them again.
Status ResetScheduling();

// Address randomisation and the default timer slack, whatever the supervisor was started
// with: both are inherited through execve.
Status ResetPersonality();

// Whether core_pattern(5) hands crashes to a program or a socket of the host, whatever RLIMIT_CORE
// says but 1. Pure.
bool HandlesCrashes(std::string_view core_pattern);

// No core file of what this process starts, and none for the host's handler, if it has one.
Status LimitCores();

}  // namespace odyssey::cell_init

#endif  // ODYSSEY_SUPERVISOR_CELL_INIT_INHERITED_ATTRIBUTES_H_
