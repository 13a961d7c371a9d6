#include "ctl/daemon/daemon_process.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

namespace odyssey::ctl {
namespace {

// What a child could not do, on a pipe that exec closes.
struct ChildFailure {
  char step[16];
  int error;
};

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

Result<Pipe> MakePipe() {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) return ErrnoStatus(errno, "create pipe");
  return Pipe{UniqueFd(fds[0]), UniqueFd(fds[1])};
}

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> out;
  for (const std::string& s : strings) out.push_back(const_cast<char*>(s.c_str()));
  out.push_back(nullptr);
  return out;
}

// Everything that the child needs, built before the fork.
struct ChildPlan {
  char* const* argv;
  char* const* env;
  uint32_t uid;
  uint32_t gid;
  const char* uid_map;  // of the new user namespace; "": none is made
  const char* gid_map;
  int out;
  int err;
  int failure;
  pid_t parent;
};

// Async-signal-safe.
[[noreturn]] void Die(const ChildPlan& plan, const char* step) {
  ChildFailure failure{};
  failure.error = errno;
  strncpy(failure.step, step, sizeof(failure.step) - 1);
  const ssize_t ignored = write(plan.failure, &failure, sizeof(failure));
  (void)ignored;  // nothing is left to do about it
  _exit(125);
}

// Async-signal-safe.
void WriteProc(const ChildPlan& plan, const char* path, const char* text) {
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0 || write(file, text, strlen(text)) < 0) Die(plan, path + strlen("/proc/self/"));
  close(file);
}

// user_namespaces(7): without CAP_SETGID outside, only where setgroups(2) is denied. Async-signal-
// safe.
void EnterUserNamespace(const ChildPlan& plan) {
  if (unshare(CLONE_NEWUSER) != 0) Die(plan, "user namespace");
  WriteProc(plan, "/proc/self/uid_map", plan.uid_map);
  WriteProc(plan, "/proc/self/setgroups", "deny");
  WriteProc(plan, "/proc/self/gid_map", plan.gid_map);
  // Not uid 0 there, so that what is executed would have none of the capabilities: ambient ones.
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[2]{};
  if (syscall(SYS_capget, &header, sets) != 0) Die(plan, "capget");
  for (__user_cap_data_struct& set : sets) set.inheritable = set.permitted;
  if (syscall(SYS_capset, &header, sets) != 0) Die(plan, "capset");
  for (int cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; ++cap) {
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, cap, 0, 0) != 0) Die(plan, "ambient");
  }
}

// Async-signal-safe. Runs as root until setresuid, if this process does.
[[noreturn]] void RunChild(const ChildPlan& plan) {
  // Its own session: Ctrl-C on our terminal is for us alone: we stop the daemons in order.
  if (setsid() < 0) Die(plan, "setsid");
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null < 0 || dup2(null, STDIN_FILENO) < 0) Die(plan, "stdin");
  if (dup2(plan.out, STDOUT_FILENO) < 0 || dup2(plan.err, STDERR_FILENO) < 0) Die(plan, "stdout");

  signal(SIGPIPE, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  if (sigprocmask(SIG_SETMASK, &none, nullptr) != 0) Die(plan, "sigprocmask");

  if (geteuid() == 0) {
    if (setgroups(0, nullptr) != 0) Die(plan, "setgroups");
    if (setresgid(plan.gid, plan.gid, plan.gid) != 0) Die(plan, "setresgid");
    if (setresuid(plan.uid, plan.uid, plan.uid) != 0) Die(plan, "setresuid");
  }
  if (*plan.uid_map != '\0') EnterUserNamespace(plan);
  // After setresuid, which clears it.
  if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0) Die(plan, "prctl");
  if (getppid() != plan.parent) _exit(125);  // it died before the line above

  // close_range(2) with CLOSE_RANGE_CLOEXEC: the failure pipe must live until exec.
  if (syscall(SYS_close_range, 3, ~0u, 1u << 2) != 0) Die(plan, "close_range");
  execve(plan.argv[0], plan.argv, plan.env);
  Die(plan, "execve");
}

std::string DescribeEnd(const siginfo_t& info) {
  if (info.si_code == CLD_EXITED) return "exit code " + std::to_string(info.si_status);
  const char* name = sigdescr_np(info.si_status);
  return "signal " + std::to_string(info.si_status) + " (" + (name == nullptr ? "?" : name) + ")";
}

}  // namespace

DaemonProcess::DaemonProcess(UniqueFd pidfd, UniqueFd out, UniqueFd err)
    : pidfd_(std::move(pidfd)), out_(std::move(out)), err_(std::move(err)) {}

Result<std::unique_ptr<DaemonProcess>> DaemonProcess::Start(const DaemonSpec& spec) {
  ODY_ASSIGN_OR_RETURN(Pipe out, MakePipe());
  ODY_ASSIGN_OR_RETURN(Pipe err, MakePipe());
  ODY_ASSIGN_OR_RETURN(Pipe failure, MakePipe());
  for (const int fd : {out.read.get(), err.read.get()}) {
    if (fcntl(fd, F_SETFL, O_NONBLOCK) != 0) return ErrnoStatus(errno, "set pipe non-blocking");
  }
  const std::vector<char*> argv = Pointers(spec.argv);
  const std::vector<char*> env = Pointers(spec.env);
  std::string uid_map, gid_map;
  if (spec.own_user_namespace) {
    const std::string uid = std::to_string(spec.uid) + " ";
    uid_map = uid + uid + "1";
    gid_map = uid + std::to_string(spec.gid) + " 1";
  }
  const ChildPlan plan = {argv.data(),         env.data(),      spec.uid,        spec.gid,
                          uid_map.c_str(),     gid_map.c_str(), out.write.get(), err.write.get(),
                          failure.write.get(), getpid()};

  const pid_t pid = fork();
  if (pid < 0) return ErrnoStatus(errno, "fork for " + spec.name);
  if (pid == 0) RunChild(plan);

  // pidfd_open(2) cannot miss: the child is not reaped before this process waits for it.
  UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  ODY_CHECK(static_cast<bool>(pidfd));
  std::unique_ptr<DaemonProcess> process(
      new DaemonProcess(std::move(pidfd), std::move(out.read), std::move(err.read)));

  failure.write.reset();
  ChildFailure what{};
  ssize_t n = 0;
  do {
    n = read(failure.read.get(), &what, sizeof(what));
  } while (n < 0 && errno == EINTR);
  if (n == static_cast<ssize_t>(sizeof(what))) {
    return ErrnoStatus(what.error, std::string(what.step) + " for " + spec.argv[0]);
  }
  return process;
}

DaemonProcess::~DaemonProcess() {
  if (reaped_) return;
  Signal(SIGKILL);
  Reap();
}

void DaemonProcess::Signal(int signal) {
  // pidfd_send_signal(2); a process that has ended needs no signal.
  syscall(SYS_pidfd_send_signal, pidfd_.get(), signal, nullptr, 0);
}

std::string DaemonProcess::Reap() {
  siginfo_t info{};
  int result = 0;
  do {
    result =
        waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(pidfd_.get()), &info, WEXITED);
  } while (result != 0 && errno == EINTR);
  reaped_ = true;
  return result == 0 ? DescribeEnd(info) : "unknown";
}

}  // namespace odyssey::ctl
