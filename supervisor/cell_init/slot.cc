#include "supervisor/cell_init/slot.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>

#include "common/os/message_socket.h"
#include "supervisor/cell_init/command.h"

namespace odyssey::cell_init {
namespace {

// Public to every process by the kernel's permissions, but of the host, not of the cell.
constexpr const char* kMaskedFiles[] = {"/proc/kallsyms", "/proc/keys",    "/proc/key-users",
                                        "/proc/cmdline",  "/proc/modules", "/proc/config.gz"};

// A /proc that shows this slot's processes and nobody else's.
Status MountProc() {
  if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, nullptr) != 0) {
    return ErrnoStatus(errno, "mount /proc");
  }
  for (const char* file : kMaskedFiles) {
    // ENOENT: this kernel does not have it.
    if (mount("/dev/null", file, nullptr, MS_BIND, nullptr) != 0 && errno != ENOENT) {
      return ErrnoStatus(errno, std::string("mask ") + file);
    }
  }
  return OkStatus();
}

uint64_t Microseconds(const timeval& time) {
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000 + static_cast<uint64_t>(time.tv_usec);
}

void ReportExit(int control, int wait_status) {
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  (void)SendMessage(control, cell::Encode(cell::ExecExited{
                                 .wait_status = wait_status,
                                 .user_usec = Microseconds(usage.ru_utime),
                                 .system_usec = Microseconds(usage.ru_stime),
                                 .max_rss_bytes = static_cast<uint64_t>(usage.ru_maxrss) * 1024}));
}

// The nested pid 1: reaps whatever becomes its child, passes signals on, ends with the command.
class SlotInit final {
 public:
  SlotInit(pid_t command, int control) : command_(command), control_(control) {}

  [[noreturn]] void Run() {
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGCHLD);
    const UniqueFd signals(signalfd(-1, &mask, SFD_CLOEXEC));
    pollfd polled[] = {{signals.get(), POLLIN, 0}, {control_, POLLIN, 0}};
    for (;;) {
      if (poll(polled, 2, -1) < 0 && errno != EINTR) _exit(1);
      if (polled[0].revents != 0) Reap(signals.get());
      if (polled[1].revents != 0) ReadControl();
    }
  }

 private:
  void Reap(int signals) {
    signalfd_siginfo info;
    (void)!read(signals, &info, sizeof(info));
    int status = 0;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
      if (pid != command_) continue;
      ReportExit(control_, status);
      _exit(0);  // and with us, everybody else in this pid namespace
    }
  }

  void ReadControl() {
    const auto message = ReceiveMessage(control_);
    if (!message.ok()) _exit(0);  // closed: nobody wants this slot any more
    const auto type = cell::TypeOf(message->bytes);
    if (type.ok() && *type == cell::MessageType::kKillSlot) _exit(0);
    cell::SignalSlot request;
    if (!cell::Decode(message->bytes, &request).ok()) return;
    // Group 0 is ours alone; the command leads its own session.
    kill(request.everyone ? -1 : -command_, request.signal);
  }

  const pid_t command_;
  const int control_;
};

// Forked child: the nested pid 1.
[[noreturn]] void BecomeSlot(const Confinement& confinement, int exec_socket, int control) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  Status status = MountProc();
  const pid_t command = status.ok() ? fork() : -1;
  if (command < 0) {
    (void)SendMessage(exec_socket, cell::Encode(cell::ExecError{status.message(), errno}));
    _exit(1);
  }
  if (command == 0) {
    close(control);
    WaitAndExecute(confinement, exec_socket);
  }
  close(exec_socket);
  status = Confinement::DropCapabilities();
  if (!status.ok()) _exit(1);
  SlotInit(command, control).Run();
}

}  // namespace

Result<Slot> MakeSlot(const Confinement& confinement) {
  ODY_ASSIGN_OR_RETURN(auto exec, MessageSocketPair());
  ODY_ASSIGN_OR_RETURN(auto control, MessageSocketPair());
  // A fork with two new namespaces. The raw call: libc has no fork that takes flags.
  const long pid =
      syscall(SYS_clone, CLONE_NEWPID | CLONE_NEWNS | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (pid < 0) return ErrnoStatus(errno, "fork into new namespaces");
  if (pid == 0) {
    exec.first.reset();
    control.first.reset();
    BecomeSlot(confinement, exec.second.get(), control.second.get());
  }
  Slot slot;
  slot.pid = static_cast<pid_t>(pid);
  slot.exec = std::move(exec.first);
  slot.control = std::move(control.first);
  return slot;
}

}  // namespace odyssey::cell_init
