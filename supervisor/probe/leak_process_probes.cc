// What a careless launcher hands down, and other processes: the host's, another cell's, and those
// of another command of this one.

#include <fcntl.h>
#include <linux/keyctl.h>
#include <mqueue.h>
#include <signal.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "common/os/unique_fd.h"
#include "supervisor/probe/answers.h"
#include "supervisor/probe/groups.h"

extern char** environ;

namespace odyssey::probe {
namespace {

const Errnos kAbsent = {EPERM, EACCES, ENOENT, ESRCH, EINVAL};

// What docs/policy/probes.md promises, and no more.
Finding Environment(const Targets& targets) {
  std::set<std::string> own = {
      "PATH", "HOME", "TMPDIR", "XDG_DATA_HOME", "XDG_CACHE_HOME", "LANG", "SHELL", "USER",
      "LOGNAME", "ODYSSEY_SANDBOX", "ODYSSEY_RUN", "npm_config_fetch_retries",
      // How many processors there are.
      "OMP_NUM_THREADS", "GOMAXPROCS", "PYTHON_CPU_COUNT", "PYTEST_XDIST_AUTO_NUM_WORKERS"};
  const std::vector<std::string>& of_image = targets.All("image_variable");
  own.insert(of_image.begin(), of_image.end());
  size_t count = 0;
  for (char** entry = environ; *entry != nullptr; ++entry, ++count) {
    const std::string name = std::string(*entry).substr(0, strcspn(*entry, "="));
    if (own.count(name) == 0) return Escaped("it has " + name);
  }
  return Contained(std::to_string(count) + " variables of its own");
}

// In our own environment it is seen by `Environment`, too.
Finding VariableOfTheSupervisor(const Targets& targets) {
  const std::string wanted = targets.Text("variable") + "=";
  for (const pid_t pid : Processes()) {
    const std::string path = "/proc/" + std::to_string(pid) + "/environ";
    if (Slurp(path, SIZE_MAX).find(wanted) != std::string::npos) return Escaped(path + " has it");
  }
  return Contained("no process shows it");
}

Finding Descriptors(const Targets& targets) {
  if (!targets.inherited.empty()) return Escaped("there is " + targets.inherited.front());
  struct stat info;
  for (int fd = 0; fd <= 2; ++fd) {
    if (fstat(fd, &info) == 0 && S_ISDIR(info.st_mode)) return Escaped("a directory is open");
  }
  return Contained("stdin, stdout and stderr only");
}

Finding Groups(const Targets&) {
  const std::string groups = OwnStatus("Groups");
  return groups.find_first_of("0123456789") == std::string::npos ? Contained("none")
                                                                 : Escaped(groups);
}

// ---- processes

std::string CommandOf(pid_t pid) {
  std::string name = Slurp("/proc/" + std::to_string(pid) + "/comm");
  if (!name.empty()) name.pop_back();
  return name;
}

Finding MustNotSee(const std::string& command) {
  const std::vector<pid_t> pids = Processes();
  for (const pid_t pid : pids) {
    if (CommandOf(pid) == command) return Escaped("it is process " + std::to_string(pid));
  }
  return Contained("not among " + std::to_string(pids.size()) + " processes");
}

// The number may mean another process here; that one is ours.
Finding SignalHost(const Targets& targets) {
  const pid_t pid = static_cast<pid_t>(targets.Number("pid"));
  if (pid <= 1) return Broken("no process was named");
  const Answer answer = Answered(kill(pid, 0));
  if (answer.result == 0 && CommandOf(pid) != targets.Text("command")) {
    return Contained("another process has its number here");
  }
  return MustBeRefused(answer, kAbsent);
}

Finding OpenHost(const Targets& targets) {
  const pid_t pid = static_cast<pid_t>(targets.Number("pid"));
  const Answer answer = Call(SYS_pidfd_open, pid, 0);
  if (answer.result >= 0 && CommandOf(pid) != targets.Text("command")) {
    return Contained("another process has its number here");
  }
  return MustBeRefused(answer, kAbsent);
}

// Ourselves, what started us, and pid 1 are all there is to see.
Finding UnknownProcesses(const Targets&) {
  for (const pid_t pid : Processes()) {
    if (pid == 1 || pid == getpid() || pid == getppid()) continue;
    const std::string name = CommandOf(pid);
    if (name != CommandOf(getpid())) return Escaped(name + " is process " + std::to_string(pid));
  }
  return Contained("none");
}

// ---- IPC

Finding SharedMemory(std::string_view key, const Targets& targets) {
  return MustBeRefused(Answered(shmget(static_cast<key_t>(targets.Number(key)), 0, 0)), kAbsent);
}

Finding PosixSharedMemory(const Targets& targets) {
  return MustNotOpen("/dev/shm/" + targets.Text("shm"), O_RDONLY, kRefusedOrAbsent);
}

Finding MessageQueue(const Targets& targets) {
  const mqd_t queue = mq_open(("/" + targets.Text("queue")).c_str(), O_RDONLY | O_NONBLOCK);
  return MustBeRefused(Answered(queue), kAbsent);
}

// Everything of System V that is there, by the kernel's own list, which is empty in a new
// namespace.
Finding IpcList(const std::string& path) {
  const std::string text = Slurp(path);
  const auto lines = std::count(text.begin(), text.end(), '\n');
  if (lines == 0) return NotApplicable("this kernel does not have it");
  return lines == 1 ? Contained("empty") : Escaped(std::to_string(lines - 1) + " are listed");
}

Finding FindKey(const Targets& targets) {
  return MustBeRefused(Call(SYS_keyctl, KEYCTL_SEARCH, KEY_SPEC_SESSION_KEYRING, "user",
                            targets.Text("key").c_str(), 0),
                       kAbsent);
}

Finding RequestKey(const Targets& targets) {
  return MustBeRefused(Call(SYS_request_key, "user", targets.Text("key").c_str(), nullptr, 0),
                       kAbsent);
}

}  // namespace

void AddLeakProcessProbes(Probes* all) {
  const auto add = [all](const char* id, const char* safe, const char* layer, Attempt attempt) {
    all->push_back({std::string("leak.") + id, safe, layer, std::move(attempt)});
  };
  const char* kLauncher = "cell-init: built from nothing";
  add("environment", "documented variables only", kLauncher, Environment);
  add("variable", "no process shows it", kLauncher, VariableOfTheSupervisor);
  add("descriptors", "0, 1 and 2", kLauncher, Descriptors);
  add("groups", "none", "root: setgroups", Groups);

  const char* kPids = "pid namespaces";
  add("process_of_the_host", "it is not seen", kPids,
      [](const Targets& t) { return MustNotSee(t.Text("command")); });
  add("process_of_another_cell", "it is not seen", kPids,
      [](const Targets& t) { return MustNotSee(t.Text("neighbour")); });
  add("process_of_another_command", "it is not seen", kPids,
      [](const Targets& t) { return MustNotSee(t.Text("sibling")); });
  add("processes", "pid 1 and our own", kPids, UnknownProcesses);
  add("signal_host", "ESRCH", kPids, SignalHost);
  add("pidfd_of_host", "ESRCH", kPids, OpenHost);

  const char* kIpc = "ipc namespace";
  const char* kAbsentText = "it is not there";
  add("shared_memory", kAbsentText, kIpc,
      [](const Targets& t) { return SharedMemory("shm_key", t); });
  add("shared_memory_of_another_cell", kAbsentText, kIpc,
      [](const Targets& t) { return SharedMemory("neighbour_key", t); });
  add("posix_shared_memory", kAbsentText, "a /dev/shm of its own", PosixSharedMemory);
  add("message_queue", kAbsentText, kIpc, MessageQueue);
  for (const char* kind : {"shm", "sem", "msg"}) {
    const std::string path = std::string("/proc/sysvipc/") + kind;
    all->push_back({"leak.ipc_list:" + path, "it is empty", kIpc,
                    [path](const Targets&) { return IpcList(path); }});
  }
  add("keyring", kAbsentText, "a session keyring of its own; seccomp", FindKey);
  add("key", kAbsentText, "a session keyring of its own; seccomp", RequestKey);
}

}  // namespace odyssey::probe
