#include "supervisor/cell_init/tools_process.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "policy/plan/plan.h"
#include "supervisor/cell_tools/worker.h"

namespace odyssey::cell_init {
namespace {

constexpr int kToolsSocketFd = 3;

// No execve: the worker shares cell-init's pages, which hold nothing of the cell's secrets, and
// like it cannot be traced. Landlock and the commands' filter before the first request.
Status BecomeTools(const Confinement& confinement, int socket) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_NAME, "cell-tools");
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  std::vector<cell::ToolRoot> roots = {{.path = plan::kWorkspacePath}, {.path = plan::kCellPath}};
  roots.insert(roots.end(), confinement.tool_roots().begin(), confinement.tool_roots().end());

  ODY_RETURN_IF_ERROR(Confinement::DropCapabilities());
  ODY_RETURN_IF_ERROR(confinement.EnterLandlock());
  if (dup2(socket, kToolsSocketFd) < 0) return ErrnoStatus(errno, "place socket");
  syscall(SYS_close_range, kToolsSocketFd + 1, ~0U, 0);
  ODY_RETURN_IF_ERROR(EnterCommandFilter());
  return cell_tools::Work(kToolsSocketFd, roots);
}

}  // namespace

Result<ToolsProcess> StartTools(const Confinement& confinement) {
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
  ToolsProcess tools;
  tools.pid = pid;
  tools.socket = std::move(ours);
  return tools;
}

}  // namespace odyssey::cell_init
