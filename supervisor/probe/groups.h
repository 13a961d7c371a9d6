#ifndef ODYSSEY_SUPERVISOR_PROBE_GROUPS_H_
#define ODYSSEY_SUPERVISOR_PROBE_GROUPS_H_

// The table of probes, a function for each file of it. docs/policy/probes.md says what they try.

#include "supervisor/probe/probe.h"

namespace odyssey::probe {

// Ways to become more than the cell's user on the host.
void AddProcfsProbes(Probes* all);
void AddDeviceProbes(Probes* all);
void AddSetIdProbes(Probes* all);
void AddInitProbes(Probes* all);
// Executing what the policy does not name.
void AddExecuteProbes(Probes* all);
// Changing what is read-only.
void AddWriteProbes(Probes* all);
void AddPersistenceProbes(const Targets& targets, Probes* all);
// Learning of the host.
void AddLeakFileProbes(Probes* all);
void AddLeakProcessProbes(Probes* all);
// Making and entering namespaces, and mounts in them.
void AddNamespaceProbes(const Targets& targets, Probes* all);
void AddMountProbes(Probes* all);
// Reaching anybody outside.
void AddNetworkProbes(const Targets& targets, Probes* all);
void AddUnixSocketProbes(const Targets& targets, Probes* all);
// The kernel's doors.
void AddKernelCallProbes(Probes* all);
void AddKernelStateProbes(Probes* all);
void AddSocketKindProbes(Probes* all);
void AddLimitProbes(Probes* all);
// What has to work.
void AddWorkingProcesses(Probes* all);
void AddWorkingFiles(Probes* all);
void AddWorkingIpc(Probes* all);
void AddWorkingSockets(Probes* all);
void AddWorkingPrograms(Probes* all);

// Some come once for each of a target's values.
Probes AllProbes(const Targets& targets);

}  // namespace odyssey::probe

#endif  // ODYSSEY_SUPERVISOR_PROBE_GROUPS_H_
