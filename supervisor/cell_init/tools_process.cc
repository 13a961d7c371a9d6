#include "supervisor/cell_init/tools_process.h"

#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include <vector>

#include "policy/plan/plan.h"
#include "supervisor/cell_init/worker_process.h"
#include "supervisor/cell_tools/worker.h"

namespace odyssey::cell_init {
namespace {

Status BecomeTools(const Confinement& confinement, int socket) {
  std::vector<cell::ToolRoot> roots = {{.path = plan::kWorkspacePath}, {.path = plan::kCellPath}};
  roots.insert(roots.end(), confinement.tool_roots().begin(), confinement.tool_roots().end());
  ODY_RETURN_IF_ERROR(BecomeWorker("cell-tools", confinement, {socket}));
  return cell_tools::Work(kFirstWorkerFd, roots);
}

}  // namespace

Result<UniqueFd> StartTools(const Confinement& confinement) {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return ErrnoStatus(errno, "create socket pair");
  }
  UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  const pid_t pid = fork();
  if (pid < 0) return ErrnoStatus(errno, "fork");
  if (pid == 0) {
    const Status status = BecomeTools(confinement, theirs.get());
    if (status.ok()) _exit(0);
    dprintf(2, "cell-init: file worker: %s\n", status.message().c_str());
    _exit(125);
  }
  return ours;
}

}  // namespace odyssey::cell_init
