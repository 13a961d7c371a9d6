#include "supervisor/cell_init/slot.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "common/os/file.h"
#include "common/os/message_socket.h"
#include "policy/plan/kernel_memory.h"
#include "supervisor/cell_init/command.h"
#include "supervisor/cell_init/connection_watch.h"
#include "supervisor/cell_init/kernel_table.h"
#include "supervisor/cell_init/refused_calls.h"
#include "supervisor/cell_tools/directory_stream.h"
#include "supervisor/cell_tools/startup_memory.h"

namespace odyssey::cell_init {
namespace {

// Of /proc what is the host's, not the cell's: public to every process, or kept from it by the
// kernel's permissions alone. Each shows what the plan has for it in cell::kOwnProc, or is empty.
constexpr const char* kCovered[] = {
    "acpi",       "asound",      "bus",     "cmdline",       "config.gz", "fs",
    "interrupts", "iomem",       "ioports", "irq",           "kallsyms",  "kcore",
    "key-users",  "keys",        "kmsg",    "latency_stats", "locks",     "meminfo",
    "modules",    "sched_debug", "scsi",    "softirqs",      "swaps",     "sysrq-trigger",
    "timer_list"};

// Of commands that build an image (plan::Plan::build); and what the slot needs beside them, to look
// at such a command, which may be another user's, and answer its calls.
constexpr uint32_t kOfBuild = 1U << CAP_CHOWN | 1U << CAP_DAC_OVERRIDE | 1U << CAP_FOWNER |
                              1U << CAP_FSETID | 1U << CAP_KILL | 1U << CAP_SETGID |
                              1U << CAP_SETUID;
constexpr uint32_t kOfAnswers = 1U << CAP_SYS_PTRACE;

// Together two seconds.
constexpr int kForkTries = 200;
constexpr int kForkPauseMs = 10;

constexpr size_t kMaxProcessFile = 4096;  // of /proc/PID

// A /proc that shows this slot's processes only. Read-only: of an image's root, Landlock lets write
// what the kernel lets root of the cell.
Status MountProc() {
  constexpr unsigned long kFlags = MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY;
  const int mounted = mount("proc", "/proc", "proc", kFlags, nullptr);
  return mounted == 0 ? OkStatus() : ErrnoStatus(errno, "mount /proc");
}

bool Cover(const std::string& path, const std::string& with) {
  return mount(with.c_str(), path.c_str(), nullptr, MS_BIND, nullptr) == 0;
}

Status CoverProc() {
  for (const std::string name : kCovered) {
    const std::string path = "/proc/" + name, own = cell::kOwnProc + ("/" + name);
    if (access(path.c_str(), F_OK) != 0) continue;  // this kernel does not have it
    const bool file = Cover(path, own) || Cover(path, cell::kEmptyFile);
    if (!file && !Cover(path, cell::kEmptyDirectory)) return ErrnoStatus(errno, "cover " + path);
  }
  return OkStatus();
}

// Whether a child has become a program.
bool HasBegun(pid_t pid) {
  constexpr uint32_t kForkedOnly = 0x40;  // of proc_pid_stat(5), as ps(1) shows it: no exec since
  constexpr size_t kFlags = 6;            // after the name
  const auto stat = ReadFile("/proc/" + std::to_string(pid) + "/stat", kMaxProcessFile);
  if (!stat.ok()) return true;
  const auto words = WordsOf(std::string_view(*stat).substr(stat->rfind(')') + 1));
  return words.size() <= kFlags || (NumberIn(words[kFlags]) & kForkedOnly) == 0;
}

// The names of the first processes besides this one: its /proc shows those of the slot alone.
std::vector<std::string> OtherProcesses() {
  std::vector<std::string> names;
  cell_tools::DirectoryStream proc(OpenTable("/proc"));
  while (const dirent* entry = proc.ok() ? proc.Next() : nullptr) {
    const uint32_t pid = NumberIn(entry->d_name);
    if (pid <= 1 || names.size() == cell::kMaxLeftProcesses) continue;
    const auto comm = ReadFile("/proc/" + std::to_string(pid) + "/comm", kMaxProcessFile);
    // A name may hold line breaks: it is told up to the first.
    if (comm.ok()) names.push_back(comm->substr(0, comm->find('\n')).substr(0, cell::kMaxComm));
  }
  return names;
}

std::vector<std::string> FullPlaces() {
  std::vector<std::string> full;
  for (const char* place : cell::kBoundedPlaces) {
    struct statfs info {};
    if (statfs(place, &info) == 0 && info.f_blocks != 0 && info.f_bavail == 0) {
      full.emplace_back(place);
    }
  }
  return full;
}

uint64_t Microseconds(const timeval& time) {
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000 + static_cast<uint64_t>(time.tv_usec);
}

// The nested pid 1, already under the commands' filter: runs one command after another, each in an
// empty pid namespace, passes signals on, answers what the filter refuses, and reaps whatever
// becomes its child. A refused call of its own would wait for itself: it makes none
// (NotifiedCallsTest.AllowsWhatASlotDoes).
class SlotInit final {
 public:
  SlotInit(const Confinement& confinement, const SlotPlace& place, UniqueFd exec, UniqueFd control,
           UniqueFd listener, KernelMemory memory)
      : confinement_(confinement),
        place_(place),
        exec_(std::move(exec)),
        control_(std::move(control)),
        refused_(std::move(listener), std::move(memory), place.names, place.ways) {
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, SIGCHLD);
    sigaddset(&mask, cell::kConnectionsSignal);
    sigprocmask(SIG_BLOCK, &mask, nullptr);
    signals_ = UniqueFd(signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK));
  }

  [[noreturn]] void Run() {
    for (;;) {
      StartWaiting();
      while (command_ > 0) Serve();
      EndEverybody();
      refused_.CommandEnded();
      if (!OfferAgain().ok()) _exit(1);
    }
  }

 private:
  // The cell's last place may be this process's own, until what another command left is reaped.
  pid_t ForkPatiently() {
    for (int tries = 0;; ++tries) {
      const pid_t pid = fork();
      if (pid >= 0 || errno != EAGAIN || tries == kForkTries) return pid;
      pollfd polled{control_.get(), POLLIN, 0};
      if (poll(&polled, 1, kForkPauseMs) > 0) ReadControl();
    }
  }

  // The process that becomes the next command.
  void StartWaiting() {
    // Of the command before, which has ended.
    for (signalfd_siginfo old; read(signals_.get(), &old, sizeof(old)) > 0;) {
    }
    full_ = FullPlaces();
    command_ = ForkPatiently();
    if (command_ < 0) {
      (void)SendMessage(exec_.get(), cell::Encode(cell::ExecError{cell::ExecStep::kFork,
                                                                  ErrnoStatus(errno, "fork")}));
      _exit(1);
    }
    if (command_ == 0) {
      control_.reset();
      refused_.CloseListener();
      WaitAndExecute(confinement_, place_.spare_run, exec_.get());
    }
    exec_.reset();
  }

  void Serve() {
    pollfd polled[] = {
        {signals_.get(), POLLIN, 0}, {control_.get(), POLLIN, 0}, {refused_.listener(), POLLIN, 0}};
    if (poll(polled, 3, -1) < 0 && errno != EINTR) _exit(1);
    if (polled[0].revents != 0) ReadSignal();
    if (command_ > 0 && polled[1].revents != 0) ReadControl();
    // One at a time, so that a flood of them keeps nothing else waiting.
    if (command_ > 0 && polled[2].revents != 0) refused_.Answer();
  }

  void ReadSignal() {
    signalfd_siginfo info{};
    if (read(signals_.get(), &info, sizeof(info)) != sizeof(info)) return;
    if (info.ssi_signo == SIGCHLD) return Reap();
    // From outside of this pid namespace: si_pid is 0, which no process in it can forge.
    if (info.ssi_code != SI_USER || info.ssi_pid != 0 || !HasBegun(command_)) return;
    refused_.CountConnections();
    kill(-1, SIGKILL);
  }

  void Reap() {
    int status = 0;
    rusage usage{};
    for (pid_t pid; (pid = wait4(-1, &status, WNOHANG, &usage)) > 0;) {
      if (pid != command_) continue;
      ReportExit(status, usage);
      command_ = -1;
      return;
    }
  }

  // Every refused call of the command itself has been answered, and so counted.
  void ReportExit(int wait_status, const rusage& usage) {
    cell::ExecExited report{.wait_status = wait_status,
                            .user_usec = Microseconds(usage.ru_utime),
                            .system_usec = Microseconds(usage.ru_stime),
                            .max_rss_bytes = static_cast<uint64_t>(usage.ru_maxrss) * 1024,
                            .pid = static_cast<uint32_t>(std::max(command_, 0))};
    refused_.MoveTo(&report);
    for (std::string& place : FullPlaces()) {
      const bool before = std::count(full_.begin(), full_.end(), place) != 0;
      if (!before || wait_status != 0) report.full.push_back(std::move(place));
    }
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    if (waitpid(-1, nullptr, WNOHANG) == 0) report.left = OtherProcesses();
    (void)SendMessage(control_.get(), cell::Encode(report));
  }

  void ReadControl() {
    const auto message = ReceiveMessage(control_.get());
    if (!message.ok()) _exit(0);  // closed: rpc has given the slot up
    // The command is reaped next, then its remaining processes.
    if (message->bytes == cell::EncodeEmpty(cell::MessageType::kKillSlot)) kill(-1, SIGKILL);
    cell::SignalSlot request;
    if (!cell::Decode(message->bytes, &request).ok()) return;
    // Group 0 is ours alone; the command leads its own session, once it has made it.
    if (kill(request.everyone ? -1 : -command_, request.signal) == 0 || request.everyone) return;
    kill(command_, request.signal);
  }

  // What the command left behind, however it daemonised: it is in this pid namespace, where -1
  // means every process but us, and what was forked meanwhile is killed too. Orphans become our
  // children, so when there is none left the namespace is empty.
  static void EndEverybody() {
    // Mostly no process is left. Checked first: kill(-1) walks every process of the host.
    if (waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD) return;
    kill(-1, SIGKILL);
    while (waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
    }
  }

  // The same slot with new sockets: what still holds the old ones can send nothing to it.
  // A command has our uid, but no call that would change what the next one inherits from us
  // (policy/seccomp/deny_list.cc).
  Status OfferAgain() {
    ODY_ASSIGN_OR_RETURN(auto exec, MessageSocketPair());
    ODY_ASSIGN_OR_RETURN(auto control, MessageSocketPair());
    exec_ = std::move(exec.second);
    control_ = std::move(control.second);
    return SendMessage(place_.cell_socket, cell::Encode(cell::SlotReady{.slot = place_.number}),
                       {exec.first.get(), control.first.get()});
  }

  const Confinement& confinement_;
  const SlotPlace place_;
  UniqueFd exec_, control_, signals_;
  RefusedCalls refused_;
  std::vector<std::string> full_;  // before the command
  pid_t command_ = -1;
};

Status EnterFilter(const Confinement& confinement, UniqueFd* listener) {
  ODY_ASSIGN_OR_RETURN(*listener,
                       EnterNotifyingFilter(confinement.own_network(), confinement.build()));
  return OkStatus();
}

Status GiveMounts(int to) {
  const UniqueFd mounts(open("/proc/self/ns/mnt", O_RDONLY | O_CLOEXEC));
  if (!mounts) return ErrnoStatus(errno, "open the mount namespace");
  return SendMessage(to, "m", {mounts.get()});
}

// Forked child: the nested pid 1.
[[noreturn]] void BecomeSlot(const Confinement& confinement, const SlotPlace& place, UniqueFd exec,
                             UniqueFd control) {
  Status status = MountProc();
  // While its tables can be opened.
  KernelMemory memory({confinement.own_network(), confinement.max_sockets()}, place.connections);
  if (status.ok()) status = CoverProc();
  if (status.ok()) {
    status = confinement.build() ? Confinement::DropCapabilities(kOfBuild, kOfBuild | kOfAnswers)
                                 : Confinement::DropCapabilities();
  }
  UniqueFd listener;
  if (status.ok()) status = EnterFilter(confinement, &listener);
  if (!status.ok()) {
    (void)SendMessage(exec.get(), cell::Encode(cell::ExecError{.status = status}));
    _exit(1);
  }
  // Without notifications the command may listen at any time.
  if (!listener) BeginListening(place.connections);
  cell_tools::ReleaseStartupPages();
  SlotInit(confinement, place, std::move(exec), std::move(control), std::move(listener),
           std::move(memory))
      .Run();
}

}  // namespace

Result<Slot> MakeSlot(const Confinement& confinement, const SlotPlace& place) {
  ODY_ASSIGN_OR_RETURN(auto exec, MessageSocketPair());
  ODY_ASSIGN_OR_RETURN(auto control, MessageSocketPair());
  ODY_ASSIGN_OR_RETURN(auto mounts, MessageSocketPair());
  // A fork with two new namespaces. The raw call: libc has no fork that takes flags.
  const long pid =
      syscall(SYS_clone, CLONE_NEWPID | CLONE_NEWNS | SIGCHLD, nullptr, nullptr, nullptr, nullptr);
  if (pid < 0) return ErrnoStatus(errno, "fork into new namespaces");
  if (pid == 0) {
    exec.first.reset();
    control.first.reset();
    mounts.first.reset();
    if (!GiveMounts(mounts.second.get()).ok()) _exit(1);
    mounts.second.reset();
    BecomeSlot(confinement, place, std::move(exec.second), std::move(control.second));
  }
  mounts.second.reset();
  ODY_ASSIGN_OR_RETURN(Message given, ReceiveMessage(mounts.first.get()));
  if (given.fds.size() != 1) return Internal("a slot has no mount namespace");
  Slot slot;
  slot.pid = static_cast<pid_t>(pid);
  slot.mounts = std::move(given.fds[0]);
  slot.exec = std::move(exec.first);
  slot.control = std::move(control.first);
  return slot;
}

}  // namespace odyssey::cell_init
