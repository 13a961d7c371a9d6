#include "supervisor/root/keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <vector>

#include "common/os/descriptors.h"
#include "common/os/file.h"
#include "common/os/uid_range.h"
#include "common/os/unix_listener.h"
#include "supervisor/root/cgroup.h"
#include "supervisor/root/worker.h"

namespace odyssey::root {
namespace {

constexpr char kTreePrefix[] = "odyssey-";
constexpr int kMaxQuickDeaths = 5;  // workers that die within kQuick in a row
constexpr std::chrono::seconds kQuick(2);
constexpr char kHostRunner[] = "/odyssey-host-runner";

Status PrepareDirectories(const Options& options) {
  ODY_RETURN_IF_ERROR(MakeDirectories(options.state_directory, 0700));
  if (chmod(options.state_directory.c_str(), 0700) != 0)
    return ErrnoStatus(errno, "chmod " + options.state_directory);
  ODY_RETURN_IF_ERROR(MakeDirectories(options.state_directory + "/cells", 0700));
  ODY_RETURN_IF_ERROR(MakeDirectories(options.state_directory + "/audit", 0700));
  return MakeDirectories(options.run_directory, 0755);
}

// Held as long as a keeper or worker lives: two that share cells' directories would mix their
// owners.
Result<UniqueFd> LockState(const std::string& directory) {
  UniqueFd fd(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) return ErrnoStatus(errno, "open " + directory);
  if (flock(fd.get(), LOCK_EX | LOCK_NB) == 0) return fd;
  return AlreadyExists(directory + " is in use by another supervisor");
}

// The operator granted host execution to a user.
bool GrantsHost(const Options& options) { return access(options.danger_grants.c_str(), F_OK) == 0; }

// What every cell needs, looked for before anybody asks for one.
Status CheckPrograms(const Options& options) {
  const std::string& directory = options.program_directory;
  std::vector<std::string> programs = {kBwrap, directory + "/odyssey-supervisor-rpc",
                                       directory + "/odyssey-cell-init"};
  if (GrantsHost(options)) programs.push_back(directory + kHostRunner);
  for (const std::string& path : programs) {
    if (access(path.c_str(), X_OK) != 0) return ErrnoStatus(errno, "find the program " + path);
  }
  return OkStatus();
}

// Forks a worker; the child never returns.
Result<pid_t> StartWorker(const Options& options, CgroupTree* cgroups, int listener) {
  const pid_t keeper = getpid();
  const pid_t child = fork();
  if (child < 0) return ErrnoStatus(errno, "fork");
  if (child > 0) return child;

  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != keeper) _exit(1);
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const Status status = Worker(options, cgroups, listener).Run();
  if (!status.ok()) fprintf(stderr, "<3>odyssey-supervisor: %s\n", status.message().c_str());
  // The keeper may be gone: then no other process removes the groups.
  if (getppid() != keeper) cgroups->Sweep();
  _exit(status.ok() ? 0 : 1);
}

// The host runner, with our own options; -1 without grants.
// It knows us by its parent-death signal. Its socket is there before rpc is, and waits for it.
Result<pid_t> StartHostRunner(const Options& options) {
  if (!GrantsHost(options)) return pid_t{-1};
  const std::string socket_path = wire::HostSocket(options.run_directory);
  unlink(socket_path.c_str());  // of an earlier runner, or an attempt to be one
  ODY_ASSIGN_OR_RETURN(const UniqueFd listener, ListenUnix(socket_path, 0600, SOCK_SEQPACKET));
  if (lchown(socket_path.c_str(), options.rpc_uid, 0) != 0) return ErrnoStatus(errno, socket_path);
  std::string program = options.program_directory + kHostRunner;
  const pid_t child = fork();
  if (child != 0) return child;
  options.argv[0] = program.data();
  if (PlaceDescriptors({listener.get()}, wire::kHostFd).ok()) execv(program.c_str(), options.argv);
  perror("<3>odyssey-supervisor: execute odyssey-host-runner");
  _exit(1);
}

// Waits for the worker's end or a request to stop. Orphans of a dead worker are reaped on the way.
// The host runner's end is the worker's: rpc broke the protocol, or the worker has to end what the
// runner started.
bool WaitForWorker(pid_t worker, pid_t* host_runner, const sigset_t& mask) {
  bool stopping = false;
  for (;;) {
    int signal = 0;
    sigwait(&mask, &signal);
    if (signal != SIGCHLD && !stopping) {
      stopping = true;
      kill(worker, SIGTERM);
    }
    for (pid_t pid; (pid = waitpid(-1, nullptr, WNOHANG)) > 0;) {
      if (pid == worker) return stopping;
      if (pid != *host_runner) continue;
      *host_runner = -1;
      kill(worker, SIGTERM);
    }
  }
}

Status KeepWorkers(const Options& options, const CgroupLayout& layout, int listener) {
  CgroupTree cgroups(layout, kTreePrefix + std::to_string(getpid()));
  sigset_t mask;
  sigemptyset(&mask);
  for (const int signal : {SIGCHLD, SIGTERM, SIGINT}) sigaddset(&mask, signal);
  if (sigprocmask(SIG_BLOCK, &mask, nullptr) != 0) return ErrnoStatus(errno, "block signals");

  for (int quick_deaths = 0; quick_deaths < kMaxQuickDeaths;) {
    const auto started = std::chrono::steady_clock::now();
    SweepDeadTrees(layout, kTreePrefix);
    ODY_RETURN_IF_ERROR(cgroups.Open());
    ODY_ASSIGN_OR_RETURN(pid_t host_runner, StartHostRunner(options));
    ODY_ASSIGN_OR_RETURN(const pid_t worker, StartWorker(options, &cgroups, listener));
    const bool stopping = WaitForWorker(worker, &host_runner, mask);
    if (host_runner > 0 && kill(host_runner, SIGTERM) == 0) waitpid(host_runner, nullptr, 0);
    cgroups.Sweep();
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    if (stopping) return OkStatus();
    fprintf(stderr, "<3>odyssey-supervisor: the worker ended; its cells were removed\n");
    const auto lived = std::chrono::steady_clock::now() - started;
    quick_deaths = lived < kQuick ? quick_deaths + 1 : 0;
  }
  return Internal("the worker ended " + std::to_string(kMaxQuickDeaths) + " times in a row");
}

}  // namespace

Status Keep(Options options) {
  const bool rootless = options.rootless_uid != 0;
  if (geteuid() != options.rootless_uid)
    return PermissionDenied("odyssey-supervisor must run as root, or as the uid of --rootless");
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  // The reader of "ready" may have closed the pipe when a later worker writes it again.
  signal(SIGPIPE, SIG_IGN);
  // With SIGCHLD ignored, as a parent may hand it down, waitpid would report no child's end.
  signal(SIGCHLD, SIG_DFL);
  umask(022);
  if (chdir("/") != 0) return ErrnoStatus(errno, "change to /");
  ODY_RETURN_IF_ERROR(CheckPrograms(options));
  ODY_RETURN_IF_ERROR(PrepareDirectories(options));
  ODY_ASSIGN_OR_RETURN(const UniqueFd lock, LockState(options.state_directory));
  const std::string socket_path = options.run_directory + "/supervisor.sock";
  // accept checks the peer's uid.
  UniqueFd listener(options.listener);
  if (!listener) {
    ODY_ASSIGN_OR_RETURN(listener, ListenUnix(socket_path, 0666));
  }
  fcntl(listener.get(), F_SETFD, FD_CLOEXEC);

  UniqueFd uid_range;
  if (!rootless) {
    ODY_ASSIGN_OR_RETURN(
        uid_range, HoldUidRange(kUidLocks, options.uid_base, kMaxCells + 1, &options.first_uid));
  }
  Result<CgroupLayout> layout = FindCgroupLayout();
  // What is delegated to an ordinary uid is a part of v2; rpc refuses what needs more than there
  // is.
  if (rootless && !(layout.ok() && layout->v2)) layout = CgroupLayout();
  if (!layout.ok()) return layout.status();
  const Status status = KeepWorkers(options, *layout, listener.get());
  if (options.listener < 0) unlink(socket_path.c_str());
  return status;
}

}  // namespace odyssey::root
