#include "supervisor/root/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <vector>

#include "common/os/credentials.h"
#include "common/os/descriptors.h"
#include "common/os/file.h"
#include "common/os/message_socket.h"
#include "common/os/user_namespace.h"

namespace odyssey::root {
namespace {

// The descriptors that bubblewrap starts with; everything else is closed.
constexpr int kCellSocketFd = 3;
constexpr int kArgumentsFd = 4;
constexpr int kUserNamespaceFd = 5;

// /dev/null for input and output; messages go to the pipe that root reads.
Status SetUpStdio(int messages) {
  UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  const bool set_up =
      null && dup2(null.get(), 0) == 0 && dup2(null.get(), 1) == 1 && dup2(messages, 2) == 2;
  return set_up ? OkStatus() : ErrnoStatus(errno, "set up stdio");
}

// Mounts made from here on stay in this namespace, and none of the host's later ones arrive.
Status EnterMountNamespace() {
  const bool entered =
      unshare(CLONE_NEWNS) == 0 && mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
  return entered ? OkStatus() : ErrnoStatus(errno, "enter a private mount namespace");
}

// `rootless`: what root would own belongs to the cell's uid, and is read-only instead.
std::vector<std::string> BwrapArguments(const plan::Plan& plan, bool rootless) {
  std::vector<std::string> args = {
      "--userns", std::to_string(kUserNamespaceFd), "--unshare-pid", "--unshare-ipc",
      "--unshare-uts", "--unshare-cgroup", "--hostname", "cell", "--as-pid-1", "--die-with-parent",
      // For pid 1 alone, in the cell's own user namespace: to nest pid namespaces, to empty the
      // bounding set of what it starts, and for the cell's own network.
      "--new-session", "--chdir", "/", "--cap-add", "CAP_NET_ADMIN", "--cap-add", "CAP_SYS_ADMIN",
      "--cap-add", "CAP_SETPCAP", "--cap-add", "CAP_NET_BIND_SERVICE", "--bind", kStagedRoot, "/",
      "--proc", "/proc", "--dev", "/dev"};
  if (plan.network == plan::Network::kNone) args.emplace_back("--unshare-net");
  if (plan.build || plan.program == plan::Program::kLayer) {
    for (const char* capability : {"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_FOWNER", "CAP_FSETID",
                                   "CAP_KILL", "CAP_SETGID", "CAP_SETUID", "CAP_SYS_PTRACE"})
      args.insert(args.end(), {"--cap-add", capability});
  }
  const char* const fuse = rootless ? kFuseDevice : kStagedFuseDevice;
  if (plan.fuse_device) args.insert(args.end(), {"--dev-bind", fuse, kFuseDevice});
  if (!rootless) return args;
  args.insert(args.end(), {"--remount-ro", "/"});
  for (const plan::Entry& entry : plan.entries) {
    const bool empty = entry.kind == plan::EntryKind::kTmpfs;
    if (empty && entry.access == plan::Access::kReadOnly)
      args.insert(args.end(), {"--remount-ro", entry.target});
  }
  return args;
}

// The arguments travel in a sealed memory file: nothing of the plan shows in a command line.
Result<UniqueFd> ArgumentsFile(const std::vector<std::string>& args) {
  std::string bytes;
  for (const std::string& arg : args) bytes.append(arg).push_back('\0');
  return SealedMemoryFile("bwrap-arguments", bytes);
}

// Root's signal mask and ignored signals are not inherited: bubblewrap starts with none of either.
void ResetSignals() {
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

// What needs no plan, ahead of need.
Result<UniqueFd> GetReady(const LauncherOptions& options, int messages) {
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return ErrnoStatus(errno, "set the death signal");
  ResetSignals();
  ODY_RETURN_IF_ERROR(SetUpStdio(messages));
  // A supervisor started with a protected OOM score would hand its protection down.
  (void)WriteControlFile("/proc/self/oom_score_adj", "0");
  // First of all, so that everything the launch uses is charged to the cell and dies with its
  // group.
  ODY_RETURN_IF_ERROR(options.cgroups->EnterSelf(options.group));
  // While still root in the first user namespace: its maps need CAP_SETUID there.
  return MakeCellNamespace(options.cell_uid, plan::kCellUser);
}

// The privileged spine, in execution order. Returns only on failure.
Status BecomeCell(const LauncherOptions& options, int channel, int messages, pid_t parent) {
  ODY_ASSIGN_OR_RETURN(UniqueFd user_namespace, GetReady(options, messages));
  ODY_ASSIGN_OR_RETURN(const Message message, ReceiveMessage(channel));
  if (message.fds.size() != 1) return InvalidArgument("launch: expected the cell's socket");
  ODY_ASSIGN_OR_RETURN(const plan::Plan plan, plan::DecodePlan(message.bytes));
  ODY_ASSIGN_OR_RETURN(const CellIds ids, IdsOf(plan, options.cell_uid, *options.paths));
  if (ids.first != 0) {
    ODY_ASSIGN_OR_RETURN(user_namespace,
                         MakeRangeNamespace(ids.uid, 0, ids.first, plan::kRangeIds));
  } else if (plan.user != plan::kCellUser) {
    ODY_ASSIGN_OR_RETURN(user_namespace, MakeCellNamespace(ids.uid, plan.user));
  }
  // The host's mounts must not see the staging. Not ahead of need: a cell sees what is mounted now.
  ODY_RETURN_IF_ERROR(EnterMountNamespace());
  ODY_RETURN_IF_ERROR(StageRoot(plan, ids, *options.paths));
  const bool rootless = options.paths->rootless;
  ODY_ASSIGN_OR_RETURN(UniqueFd arguments, ArgumentsFile(BwrapArguments(plan, rootless)));
  ODY_RETURN_IF_ERROR(PlaceDescriptors(
      {message.fds[0].get(), arguments.get(), user_namespace.get()}, kCellSocketFd));
  // Those numbers now belong to the places; do not close what took them.
  arguments.release();
  user_namespace.release();
  // Nothing of root's survives this but the descriptors placed above.
  ODY_RETURN_IF_ERROR(BecomeUser(ids.uid, ids.gid, parent));
  // Counted in the cell's own user namespace (Linux 5.14): of the whole cell.
  const rlimit pids{plan.pids, plan.pids};
  if (rootless && setrlimit(RLIMIT_NPROC, &pids) != 0) return ErrnoStatus(errno, "limit processes");

  const std::string args_fd = std::to_string(kArgumentsFd);
  const char* argv[] = {"bwrap", "--args", args_fd.c_str(), plan::kInitPath, nullptr};
  const char* const no_environment[] = {nullptr};
  execve(kBwrap, const_cast<char**>(argv), const_cast<char**>(no_environment));
  return ErrnoStatus(errno, std::string("execute ") + kBwrap);
}

}  // namespace

Result<Launcher> Launcher::Prepare(const LauncherOptions& options) {
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC | O_NONBLOCK) != 0) return ErrnoStatus(errno, "create pipe");
  UniqueFd reader(pipe_ends[0]);
  UniqueFd writer(pipe_ends[1]);
  ODY_ASSIGN_OR_RETURN(auto channel, MessageSocketPair());

  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) return ErrnoStatus(errno, "fork");
  if (child == 0) {
    channel.first.reset();
    const Status status = BecomeCell(options, channel.second.get(), writer.get(), parent);
    dprintf(2, "%d %d %d %s\n", static_cast<int>(status.code()), status.detail().error,
            status.detail().item, status.message().c_str());
    _exit(125);
  }
  Launcher launcher;
  launcher.pid_ = child;
  launcher.channel_ = std::move(channel.first);
  launcher.messages_ = std::move(reader);
  return launcher;
}

Status Launcher::Launch(const plan::Plan& plan, int cell_socket) {
  return SendMessage(channel_.get(), plan::EncodePlan(plan), {cell_socket});
}

}  // namespace odyssey::root
