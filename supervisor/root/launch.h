#ifndef ODYSSEY_SUPERVISOR_ROOT_LAUNCH_H_
#define ODYSSEY_SUPERVISOR_ROOT_LAUNCH_H_

// Starts a cell: the one privileged path of Odyssey.

#include <sys/types.h>

#include <string>
#include <utility>

#include "common/base/status.h"
#include "common/os/unique_fd.h"
#include "policy/plan/plan.h"
#include "supervisor/root/cgroup.h"
#include "supervisor/root/staging.h"

namespace odyssey::root {

inline constexpr char kBwrap[] = "/usr/bin/bwrap";

struct LauncherOptions {
  CgroupTree* cgroups = nullptr;  // with the group made
  std::string group;
  uid_t cell_uid = 0;
  const StagingPaths* paths = nullptr;
};

// A process that is ready to become a cell: in its control group, with its user namespace,
// waiting for the plan. What it did ahead of need is what takes the kernel longest
// (moving a process between v1 control groups waits for an RCU grace period).
class Launcher final {
 public:
  // Runs as root. Caller must be single-threaded: the child uses the heap between fork and exec.
  static Result<Launcher> Prepare(const LauncherOptions& options);

  // Becomes the cell of this checked plan. `cell_socket` becomes cell-init's fd 3. How it goes is
  // seen on the cell's socket and by the process's end.
  Status Launch(const plan::Plan& plan, int cell_socket);

  // Of the launcher, which becomes bubblewrap, outside the cell: it ends when the cell does.
  pid_t pid() const { return pid_; }
  // What the child ("CODE message") or bubblewrap says when it fails; one line. Non-blocking.
  UniqueFd TakeMessages() { return std::move(messages_); }

 private:
  pid_t pid_ = -1;
  UniqueFd channel_;
  UniqueFd messages_;
};

}  // namespace odyssey::root

#endif  // ODYSSEY_SUPERVISOR_ROOT_LAUNCH_H_
