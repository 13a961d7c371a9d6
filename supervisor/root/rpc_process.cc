#include "supervisor/root/rpc_process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/capability.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "common/os/credentials.h"
#include "common/os/descriptors.h"
#include "common/os/message_socket.h"

namespace odyssey::root {
namespace {

constexpr int kFirstFd = 3;    // the socket to root
constexpr int kProgramFd = 6;  // 4 is the listening socket, 5 the directory of the audit log

Status BecomeRpcUser(uid_t uid, pid_t parent) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  // So that no later exec can bring a capability back.
  for (int cap = 0; CAP_IS_SUPPORTED(cap); ++cap) cap_drop_bound(cap);
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return ErrnoStatus(errno, "set no_new_privs");
  return BecomeUser(uid, uid, parent);
}

Status BecomeRpc(const Options& options, int socket, int listener, pid_t parent) {
  // Opened before the rights go: the directory may be closed to the rpc user.
  const std::string path = options.program_directory + "/odyssey-supervisor-rpc";
  const UniqueFd program(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!program) return ErrnoStatus(errno, "open " + path);
  // Its files are the rpc user's; only by this descriptor can it reach them, below our 0700.
  const std::string log = options.state_directory + "/audit";
  const UniqueFd audit(open(log.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!audit || fchown(audit.get(), options.rpc_uid, -1) != 0) return ErrnoStatus(errno, log);
  ODY_RETURN_IF_ERROR(PlaceDescriptors({socket, listener, audit.get(), program.get()}, kFirstFd));
  fcntl(kProgramFd, F_SETFD, FD_CLOEXEC);
  ODY_RETURN_IF_ERROR(BecomeRpcUser(options.rpc_uid, parent));

  std::vector<std::string> args = {"odyssey-supervisor-rpc", "--run", options.run_directory,
                                   "--policy", options.policy_directory};
  for (const uid_t uid : options.client_uids) {
    args.insert(args.end(), {"--client-uid", std::to_string(uid)});
  }
  args.insert(args.end(), options.rpc_arguments.begin(), options.rpc_arguments.end());
  std::vector<char*> argv;
  for (std::string& arg : args) argv.push_back(arg.data());
  argv.push_back(nullptr);
  char* const no_environment[] = {nullptr};
  fexecve(kProgramFd, argv.data(), no_environment);
  return ErrnoStatus(errno, "execute " + path);
}

}  // namespace

Result<RpcProcess> StartRpcProcess(const Options& options, int listener) {
  ODY_ASSIGN_OR_RETURN(auto ends, MessageSocketPair());
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) return ErrnoStatus(errno, "fork");
  if (child == 0) {
    const Status status = BecomeRpc(options, ends.second.get(), listener, parent);
    dprintf(2, "<3>odyssey-supervisor: start rpc: %s\n", status.message().c_str());
    _exit(125);
  }
  return RpcProcess{child, std::move(ends.first)};
}

}  // namespace odyssey::root
