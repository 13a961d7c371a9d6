#ifndef ODYSSEY_CTL_VIEW_CONFINEMENT_LINE_H_
#define ODYSSEY_CTL_VIEW_CONFINEMENT_LINE_H_

#include <string>

#include "odyssey/supervisor/v1/supervisor.pb.h"

namespace odyssey::ctl {

// What confined a turn, in one line: "confined by: uid 1879048193 · namespaces user pid … ·
// landlock ABI 7 · seccomp … · cgroup v2". A layer that is not in force is said to be missing.
// Pure.
std::string ConfinementLine(const supervisor::v1::CellInfo& cell);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_VIEW_CONFINEMENT_LINE_H_
