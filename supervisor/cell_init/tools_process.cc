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

namespace odyssey::cell_init {
namespace {

constexpr int kToolsSocketFd = 3;

[[noreturn]] void BecomeTools(const Confinement& confinement, int socket) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  std::vector<std::string> args = {"odyssey-cell-tools", "--root", plan::kWorkspacePath, "--root",
                                   plan::kCellPath};
  for (const std::string& root : confinement.tool_roots()) {
    args.insert(args.end(), {"--root", root});
  }
  std::vector<char*> argv;
  for (std::string& arg : args) argv.push_back(arg.data());
  argv.push_back(nullptr);
  char* const no_environment[] = {nullptr};

  Status status = Confinement::DropCapabilities();
  if (status.ok()) status = confinement.EnterLandlock();
  if (status.ok() && dup2(socket, kToolsSocketFd) < 0) status = ErrnoStatus(errno, "place socket");
  if (status.ok()) syscall(SYS_close_range, kToolsSocketFd + 1, ~0U, 0);
  if (status.ok()) status = EnterCommandFilter();
  if (status.ok()) {
    execve(plan::kToolsPath, argv.data(), no_environment);
    status = ErrnoStatus(errno, std::string("execute ") + plan::kToolsPath);
  }
  dprintf(2, "cell-init: start tools: %s\n", status.message().c_str());
  _exit(125);
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
  if (pid == 0) BecomeTools(confinement, theirs.get());
  ToolsProcess tools;
  tools.pid = pid;
  tools.socket = std::move(ours);
  return tools;
}

}  // namespace odyssey::cell_init
