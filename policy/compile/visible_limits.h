#ifndef ODYSSEY_POLICY_COMPILE_VISIBLE_LIMITS_H_
#define ODYSSEY_POLICY_COMPILE_VISIBLE_LIMITS_H_

// The limits of a cell, where programs look for the machine's size (ADR 0084).

#include "policy/compile/compile.h"

namespace odyssey::compile {

// Whole processors of cpu_millis, rounded up; no more than the machine has.
uint32_t VisibleProcessors(const policy::Limits& limits, const HostFacts& facts);

// Appends, from `out->limits`: the mount points of the cell's own control groups, on which
// cell-init mounts them; the file of processors in /sys; what a slot binds over files of /proc;
// variables of programs that count processors by sched_getaffinity(2). Explains them.
void AddVisibleLimits(const HostFacts& facts, Compiled* out);

}  // namespace odyssey::compile

#endif  // ODYSSEY_POLICY_COMPILE_VISIBLE_LIMITS_H_
