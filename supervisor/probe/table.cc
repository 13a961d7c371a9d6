#include "supervisor/probe/groups.h"

namespace odyssey::probe {

Probes AllProbes(const Targets& targets) {
  Probes all;
  AddProcfsProbes(&all);
  AddDeviceProbes(&all);
  AddSetIdProbes(&all);
  AddInitProbes(&all);
  AddExecuteProbes(&all);
  AddWriteProbes(&all);
  AddPersistenceProbes(targets, &all);
  AddLeakFileProbes(&all);
  AddLeakProcessProbes(&all);
  AddNamespaceProbes(targets, &all);
  AddMountProbes(&all);
  AddNetworkProbes(targets, &all);
  AddUnixSocketProbes(targets, &all);
  AddKernelCallProbes(&all);
  AddKernelStateProbes(&all);
  AddSocketKindProbes(&all);
  AddLimitProbes(&all);
  AddWorkingProcesses(&all);
  AddWorkingFiles(&all);
  AddWorkingIpc(&all);
  AddWorkingSockets(&all);
  AddWorkingPrograms(&all);
  return all;
}

}  // namespace odyssey::probe
