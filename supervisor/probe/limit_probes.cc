// Taking more than one's share. The host tries memory and time, which end the command, by itself.

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "common/os/unique_fd.h"
#include "supervisor/probe/answers.h"
#include "supervisor/probe/groups.h"

namespace odyssey::probe {
namespace {

// Of ioprio_set(2); the kernel's own header of them is not C++ everywhere.
constexpr int kIoprioWhoProcess = 1;
constexpr int kIoprioRealTime = 1 << 13;  // the class, level 0
constexpr char kCapabilities[] = "no capability";
constexpr long kBeyond = 64;  // how many more than the limit are tried

// Children that only wait. They are of our group, which ends with us.
Finding ForkMany(const Targets& targets) {
  const long most = targets.Number("pids") + kBeyond;
  long made = 0;
  int error = 0;
  for (; made < most; ++made) {
    const pid_t child = fork();
    if (child == 0) {
      pause();
      _exit(0);
    }
    if (child < 0) {
      error = errno;
      break;
    }
  }
  if (made == most) return Escaped(std::to_string(made) + " processes were made");
  return error == EAGAIN ? Contained("stopped after " + std::to_string(made))
                         : Broken("fork: " + ErrnoText(error));
}

Finding OpenMany(const Targets& targets) {
  const long most = targets.Number("open_files") + kBeyond;
  for (long opened = 0; opened < most; ++opened) {
    if (open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0) continue;
    return errno == EMFILE ? Contained("stopped after " + std::to_string(opened))
                           : BrokenAt("open");
  }
  return Escaped(std::to_string(most) + " files were opened");
}

// The host has 4,096 of them for all users, unless kernel.pty.max says otherwise.
Finding TerminalsMany(const Targets&) {
  constexpr int kMany = 512;
  std::vector<UniqueFd> terminals;
  while (terminals.size() < kMany) {
    UniqueFd fd(open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC));
    if (!fd) {
      return errno == ENOSPC ? Contained("stopped after " + std::to_string(terminals.size()))
                             : BrokenAt("open /dev/ptmx");
    }
    terminals.push_back(std::move(fd));
  }
  return Escaped(std::to_string(kMany) + " terminals were opened");
}

// What the kernel has received for them is in no control group.
Finding NetlinkMany(const Targets& targets) {
  if (targets.Is("network", "full")) return NotApplicable("those of the host are counted too");
  constexpr size_t kMany = 512;
  std::vector<UniqueFd> sockets;
  while (sockets.size() < kMany) {
    UniqueFd fd(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, 0));
    if (!fd) {
      return errno == ENOBUFS ? Contained("stopped after " + std::to_string(sockets.size()))
                              : BrokenAt("socket");
    }
    sockets.push_back(std::move(fd));
  }
  return Escaped(std::to_string(kMany) + " sockets were opened");
}

UniqueFd FileToLock() {
  const std::string path = "/tmp/locked";
  UniqueFd file(open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  unlink(path.c_str());
  return file;
}

bool LockByte(int fd, long at) {
  struct flock range {};
  range.l_type = F_WRLCK;
  range.l_start = at;
  range.l_len = 1;
  return fcntl(fd, F_SETLK, &range) == 0;
}

// Those that are given back are free for others soon. If they never are, the probe's time ends it.
Finding LocksAreBack(long taken) {
  constexpr useconds_t kPauseUs = 20'000;
  const UniqueFd file = FileToLock();
  while (!LockByte(file.get(), 0)) {
    if (errno != ENOLCK) return BrokenAt("lock after all were given back");
    usleep(kPauseUs);
  }
  return Contained("stopped after " + std::to_string(taken));
}

// Nor are the records of locks.
Finding LocksMany(const Targets& targets) {
  constexpr long kMany = 40'000;
  const long of_a_file = kMany * 2 / targets.Number("open_files");
  std::vector<UniqueFd> files;
  for (long locked = 0; locked < kMany; ++locked) {
    if (locked % of_a_file == 0) files.push_back(FileToLock());
    if (!files.back()) return BrokenAt("make a file");
    if (LockByte(files.back().get(), locked % of_a_file * 2)) continue;
    if (errno != ENOLCK) return BrokenAt("lock");
    files.clear();
    return LocksAreBack(locked);
  }
  return Escaped(std::to_string(kMany) + " locks were taken");
}

// Twice what the limit allows, in pieces, and taken back.
Finding Fill(const std::string& directory, const Targets& targets) {
  const std::string path = directory + "/filler";
  const UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd) return BrokenAt("make " + path);
  unlink(path.c_str());
  const std::string piece(1 << 20, 'x');
  const auto most = static_cast<size_t>(targets.Number("tmp_bytes")) * 2;
  for (size_t written = 0; written < most;) {
    const ssize_t n = write(fd.get(), piece.data(), piece.size());
    if (n < 0 && errno == ENOSPC) {
      return Contained("full after " + std::to_string(written >> 20) + " MiB");
    }
    if (n < 0) return BrokenAt("write");
    written += static_cast<size_t>(n);
  }
  return Escaped(std::to_string(most >> 20) + " MiB were written");
}

Finding RaiseLimit(int resource) {
  rlimit limit{};
  getrlimit(static_cast<__rlimit_resource>(resource), &limit);
  if (limit.rlim_max == RLIM_INFINITY) return Escaped("it is unlimited");
  limit.rlim_max += 1;
  return MustBeRefused(Answered(setrlimit(static_cast<__rlimit_resource>(resource), &limit)));
}

Finding CoreFiles(const Targets&) {
  rlimit limit{};
  getrlimit(RLIMIT_CORE, &limit);
  return limit.rlim_max == 0 ? Contained("none") : Escaped("core files may be written");
}

Finding RealTime(int policy) {
  const sched_param parameter{1};
  return MustBeRefused(Answered(sched_setscheduler(0, policy, &parameter)));
}

Finding Deadline(const Targets&) {
  struct {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
  } attributes = {48, 6, 0, 0, 0, 1'000'000, 100'000'000, 100'000'000};  // SCHED_DEADLINE
  return MustBeRefused(Call(SYS_sched_setattr, 0, &attributes, 0));
}

// Out of the reach of the kernel when memory is short.
Finding OomScore(const Targets&) {
  const UniqueFd fd(open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  if (!fd) return MustBeRefused({-1, errno});
  return MustBeRefused(Answered(write(fd.get(), "-1000", 5)));
}

std::string TemporaryDirectory() {
  const char* value = getenv("TMPDIR");  // NOLINT(concurrency-mt-unsafe): one thread
  return value == nullptr ? "/tmp" : value;
}

}  // namespace

void AddLimitProbes(Probes* all) {
  const auto add = [all](const char* id, const char* safe, const char* layer, Attempt attempt) {
    all->push_back({std::string("limits.") + id, safe, layer, std::move(attempt)});
  };
  add("processes", "EAGAIN at the limit", "control group: pids", ForkMany);
  add("open_files", "EMFILE at the limit", "RLIMIT_NOFILE", OpenMany);
  add("terminals", "ENOSPC at the limit", "max of the cell's devpts", TerminalsMany);
  add("netlink_sockets", "ENOBUFS at the limit", "the slot's pid 1", NetlinkMany);
  add("range_locks", "ENOLCK at the limit", "the slot's pid 1", LocksMany);
  add("memory_policy", "it is refused", "seccomp",
      [](const Targets&) { return MustBeRefused(Call(SYS_mbind, 0, 0, 0, 0, 0, 0)); });
  add("fill_tmp", "ENOSPC at the limit", "the size of a tmpfs",
      [](const Targets& t) { return Fill("/tmp", t); });
  add("fill_tmpdir", "ENOSPC at the limit", "the size of a tmpfs", [](const Targets& t) {
    if (t.Is("tree", "disk")) return NotApplicable("on disk the file system is the limit");
    return Fill(TemporaryDirectory(), t);
  });
  const char* kRefusedText = "it is refused";
  add("raise_open_files", kRefusedText, kCapabilities,
      [](const Targets&) { return RaiseLimit(RLIMIT_NOFILE); });
  add("raise_core", kRefusedText, kCapabilities,
      [](const Targets&) { return RaiseLimit(RLIMIT_CORE); });
  add("core_files", "none", "RLIMIT_CORE", CoreFiles);
  add("nice", kRefusedText, kCapabilities,
      [](const Targets&) { return MustBeRefused(Answered(setpriority(PRIO_PROCESS, 0, -5))); });
  add("real_time", kRefusedText, kCapabilities,
      [](const Targets&) { return RealTime(SCHED_FIFO); });
  add("round_robin", kRefusedText, kCapabilities,
      [](const Targets&) { return RealTime(SCHED_RR); });
  add("deadline", kRefusedText, kCapabilities, Deadline);
  add("io_priority", kRefusedText, kCapabilities, [](const Targets&) {
    return MustBeRefused(Call(SYS_ioprio_set, kIoprioWhoProcess, 0, kIoprioRealTime));
  });
  add("oom_score", kRefusedText, "Landlock; no capability", OomScore);
}

}  // namespace odyssey::probe
