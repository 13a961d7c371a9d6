#ifndef ODYSSEY_SUPERVISOR_ROOT_LAUNCH_H_
#define ODYSSEY_SUPERVISOR_ROOT_LAUNCH_H_

// Starts a cell: the one privileged path of Odyssey.

#include <sys/types.h>

#include <string>

#include "common/base/status.h"
#include "common/os/unique_fd.h"
#include "policy/plan/plan.h"
#include "supervisor/root/cgroup.h"
#include "supervisor/root/staging.h"

namespace odyssey::root {

struct LaunchRequest {
  const plan::Plan* plan = nullptr;  // checked
  uid_t cell_uid = 0;
  CgroupTree* cgroups = nullptr;  // with the cell's group made
  const StagingPaths* paths = nullptr;
  std::string bwrap;
  int cell_socket = -1;  // becomes cell-init's fd 3
};

struct LaunchedCell {
  pid_t pid = -1;     // of bubblewrap, outside the cell: it ends when the cell does
  UniqueFd messages;  // what the launch child or bubblewrap says when it fails; one line
};

// Runs as root. Caller must be single-threaded: the child uses the heap between fork and exec.
Result<LaunchedCell> LaunchCell(const LaunchRequest& request);

}  // namespace odyssey::root

#endif  // ODYSSEY_SUPERVISOR_ROOT_LAUNCH_H_
