#include "ctl/doctor/probe_canaries.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <mqueue.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <filesystem>
#include <utility>

#include "common/base/join.h"
#include "common/os/file.h"

namespace odyssey::ctl {
namespace {

namespace fs = std::filesystem;

constexpr char kText[] = "odyssey-probe canary: no cell reads or changes this\n";
constexpr char kVariableName[] = "ODYSSEY_PROBE_CANARY";
constexpr uid_t kAnotherUser = 4321;
constexpr size_t kMostBytes = 64 << 20;

// Files that run a program as root, or configure the whole host: the same afterwards.
constexpr const char* kSysctls[] = {
    "/proc/sys/kernel/core_pattern",      "/proc/sys/kernel/modprobe", "/proc/sys/kernel/hostname",
    "/proc/sys/kernel/domainname",        "/proc/sys/kernel/sysrq",    "/proc/sys/fs/suid_dumpable",
    "/proc/sys/kernel/randomize_va_space"};

std::string RandomMark() {
  uint32_t number = 0;
  ODY_CHECK(getrandom(&number, sizeof(number), 0) == sizeof(number));
  char text[16];
  snprintf(text, sizeof(text), "odyc%08x", number);
  return text;
}

Status WriteFile(const std::string& path, std::string_view text, mode_t mode) {
  const UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd) return ErrnoStatus(errno, "create " + path);
  ODY_RETURN_IF_ERROR(WriteAll(fd.get(), text));
  // Not by open's mode, which the umask cuts.
  if (fchmod(fd.get(), mode) != 0) return ErrnoStatus(errno, "change mode of " + path);
  return OkStatus();
}

Snapshot Sysctls() {
  Snapshot values;
  for (const char* path : kSysctls) {
    const Result<std::string> value = ReadFile(path, 4096);
    values[path] = value.ok() ? *value : value.status().message();
  }
  return values;
}

// Contained if there is nothing to say.
ProbeResult Finding(const std::string& cell, const char* id, const char* safe, const char* layer,
                    const std::string& wrong) {
  return {.cell = cell,
          .id = id,
          .verdict = wrong.empty() ? ProbeVerdict::kContained : ProbeVerdict::kEscaped,
          .detail = wrong.empty() ? "seen from the host" : wrong,
          .safe = safe,
          .layer = layer};
}

std::string WrongOf(const Status& status) { return status.ok() ? "" : status.message(); }

}  // namespace

ProbeCanaries::ProbeCanaries(std::string directory, ProbeListeners listeners)
    : directory_(std::move(directory)), mark_(RandomMark()), listeners_(std::move(listeners)) {}

Result<std::unique_ptr<ProbeCanaries>> ProbeCanaries::Lay(const Layout& layout) {
  const std::string outside = layout.directory + "/outside";
  const std::string read = layout.directory + "/ro";
  for (const std::string& path : {outside, read}) {
    ODY_RETURN_IF_ERROR(MakeDirectories(path, 0755));
  }
  ODY_ASSIGN_OR_RETURN(ProbeListeners listeners,
                       ProbeListeners::Open({outside + "/canary", read + "/daemon"}, RandomMark()));
  std::unique_ptr<ProbeCanaries> canaries(
      new ProbeCanaries(layout.directory, std::move(listeners)));
  ODY_RETURN_IF_ERROR(canaries->LayFiles(layout));
  ODY_RETURN_IF_ERROR(canaries->LayWorkspace(layout.protected_names));
  ODY_RETURN_IF_ERROR(canaries->LayIpc());
  ODY_RETURN_IF_ERROR(canaries->LayKey());
  ODY_RETURN_IF_ERROR(canaries->LayTerminal());
  ODY_RETURN_IF_ERROR(canaries->StartProcess());
  canaries->files_ = TakeSnapshot({outside, layout.directory + "/ro", layout.directory + "/bin"});
  canaries->sysctls_ = Sysctls();
  return canaries;
}

Status ProbeCanaries::LayFiles(const Layout& layout) {
  for (const char* name : {"/ro", "/rw", "/bin", "/workspace"}) {
    ODY_RETURN_IF_ERROR(MakeDirectories(directory_ + name, 0755));
  }
  ODY_RETURN_IF_ERROR(WriteFile(Secret(), kText, 0644));
  ODY_RETURN_IF_ERROR(WriteFile(directory_ + "/ro/file", kText, 0644));
  if (geteuid() == 0) ODY_RETURN_IF_ERROR(LayFilesOfRoot());
  ODY_ASSIGN_OR_RETURN(const std::string program, ReadFile(layout.program, kMostBytes));
  ODY_RETURN_IF_ERROR(WriteFile(directory_ + "/bin/odyssey-probe", program, 0755));
  return WriteFile(directory_ + "/bin/set-uid", program, 04755);
}

Status ProbeCanaries::LayFilesOfRoot() {
  const std::string of_another = directory_ + "/ro/of-another";
  ODY_RETURN_IF_ERROR(WriteFile(of_another, kText, 0600));
  if (chown(of_another.c_str(), kAnotherUser, kAnotherUser) != 0) {
    return ErrnoStatus(errno, "change owner of " + of_another);
  }
  const std::string device = directory_ + "/rw/device";  // null's numbers
  if (mknod(device.c_str(), S_IFCHR | 0666, makedev(1, 3)) != 0 ||
      chmod(device.c_str(), 0666) != 0) {
    return ErrnoStatus(errno, "make " + device);
  }
  return OkStatus();
}

Status ProbeCanaries::LayWorkspace(const std::vector<std::string>& names) {
  ODY_RETURN_IF_ERROR(MakeDirectories(directory_ + "/workspace/.git", 0755));
  for (const std::string& name : names) {
    const std::string path = directory_ + "/workspace/" + name;
    if (name.back() == '/') {
      ODY_RETURN_IF_ERROR(MakeDirectories(path.substr(0, path.size() - 1), 0755));
      ODY_RETURN_IF_ERROR(WriteFile(path + "file", kText, 0644));
    } else {
      ODY_RETURN_IF_ERROR(MakeDirectories(fs::path(path).parent_path(), 0755));
      ODY_RETURN_IF_ERROR(WriteFile(path, kText, 0644));
    }
    protected_.push_back(name.back() == '/' ? name.substr(0, name.size() - 1) : name);
  }
  return OkStatus();
}

Status ProbeCanaries::LayIpc() {
  uint32_t number = 0;
  ODY_CHECK(getrandom(&number, sizeof(number), 0) == sizeof(number));
  ipc_key_ = static_cast<int>(number >> 1 | 1);
  const int flags = IPC_CREAT | IPC_EXCL | 0666;
  segment_ = shmget(ipc_key_, sizeof(kText), flags);
  if (segment_ < 0) return ErrnoStatus(errno, "make a shared memory segment");
  void* memory = shmat(segment_, nullptr, 0);
  if (memory == reinterpret_cast<void*>(-1)) return ErrnoStatus(errno, "attach it");
  memcpy(memory, kText, sizeof(kText));
  shmdt(memory);
  semaphores_ = semget(ipc_key_, 1, flags);
  queue_ = msgget(ipc_key_, flags);
  if (semaphores_ < 0 || queue_ < 0) return ErrnoStatus(errno, "make a semaphore and a queue");

  const std::string name = "/" + mark_;
  const UniqueFd fd(shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR, 0666));
  if (!fd) return ErrnoStatus(errno, "make shared memory " + name);
  ODY_RETURN_IF_ERROR(WriteAll(fd.get(), kText));
  const mqd_t queue = mq_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR, 0666, nullptr);
  if (queue >= 0) mq_close(queue);  // a kernel without them has nothing to hide
  return OkStatus();
}

Status ProbeCanaries::LayKey() {
  if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr) < 0) {
    return errno == ENOSYS ? OkStatus() : ErrnoStatus(errno, "make a session keyring");
  }
  key_ =
      syscall(SYS_add_key, "user", mark_.c_str(), kText, sizeof(kText), KEY_SPEC_SESSION_KEYRING);
  return key_ >= 0 ? OkStatus() : ErrnoStatus(errno, "add a key");
}

Status ProbeCanaries::LayTerminal() {
  terminal_.reset(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (!terminal_ || ioctl(terminal_.get(), TIOCGPTN, &terminal_number_) != 0) {
    return ErrnoStatus(errno, "open a pseudo-terminal");
  }
  return OkStatus();
}

Status ProbeCanaries::StartProcess() {
  process_ = fork();
  if (process_ < 0) return ErrnoStatus(errno, "fork");
  if (process_ > 0) return OkStatus();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  prctl(PR_SET_NAME, mark_.c_str());
  syscall(SYS_close_range, 0, ~0U, 0);
  for (;;) pause();
}

ProbeCanaries::~ProbeCanaries() {
  if (process_ > 0) {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  if (segment_ >= 0) shmctl(segment_, IPC_RMID, nullptr);
  if (semaphores_ >= 0) semctl(semaphores_, 0, IPC_RMID);
  if (queue_ >= 0) msgctl(queue_, IPC_RMID, nullptr);
  shm_unlink(("/" + mark_).c_str());
  mq_unlink(("/" + mark_).c_str());
  if (key_ >= 0) syscall(SYS_keyctl, KEYCTL_UNLINK, key_, KEY_SPEC_SESSION_KEYRING);
}

std::string ProbeCanaries::Variable() const { return std::string(kVariableName) + "=" + mark_; }

std::vector<std::string> ProbeCanaries::Words() const {
  std::vector<std::string> words = listeners_.words();
  const auto add = [&](const char* name, const std::string& value) {
    words.push_back(std::string(name) + "=" + value);
  };
  add("outside", directory_ + "/outside");
  add("secret", Secret());
  add("command", mark_);
  add("pid", std::to_string(process_));
  add("variable", kVariableName);
  add("shm_key", std::to_string(ipc_key_));
  add("shm", mark_);
  add("queue", mark_);
  add("key", mark_);
  add("terminal", std::to_string(terminal_number_));
  for (const std::string& name : protected_) add("protected", name);
  return words;
}

Status ProbeCanaries::CheckIpc() const {
  void* memory = shmat(segment_, nullptr, SHM_RDONLY);
  if (memory == reinterpret_cast<void*>(-1)) return ErrnoStatus(errno, "the segment");
  const bool same = memcmp(memory, kText, sizeof(kText)) == 0;
  shmdt(memory);
  if (!same) return Internal("the segment changed");
  if (semctl(semaphores_, 0, GETVAL) != 0) return Internal("the semaphore changed");
  msqid_ds queue{};
  if (msgctl(queue_, IPC_STAT, &queue) != 0) return ErrnoStatus(errno, "the queue");
  if (queue.msg_qnum != 0) return Internal("the queue has a message");
  const Result<std::string> file = ReadFile("/dev/shm/" + mark_, kMostBytes);
  if (!file.ok()) return file.status();
  return *file == kText ? OkStatus() : Internal("/dev/shm/" + mark_ + " changed");
}

Status ProbeCanaries::CheckKey() const {
  if (key_ < 0) return OkStatus();
  char text[sizeof(kText)] = "";
  if (syscall(SYS_keyctl, KEYCTL_READ, key_, text, sizeof(text)) != sizeof(text)) {
    return ErrnoStatus(errno, "read the key");
  }
  return memcmp(text, kText, sizeof(text)) == 0 ? OkStatus() : Internal("the key changed");
}

Status ProbeCanaries::CheckProcess() const {
  int status = 0;
  const pid_t changed = waitpid(process_, &status, WNOHANG | WUNTRACED);
  if (changed == 0) return OkStatus();
  return Internal(changed == process_ && WIFSTOPPED(status) ? "it was stopped" : "it was killed");
}

std::vector<ProbeResult> ProbeCanaries::Check(const std::string& cell, bool network_full) {
  std::vector<ProbeResult> results;
  const auto check = [&](const char* id, const char* safe, const char* layer,
                         const std::string& wrong) {
    results.push_back(Finding(cell, id, safe, layer, wrong));
  };
  const char* kMounts = "the mount namespace; read-only mounts";
  check("writes.host_files", "the host's canaries are as they were", kMounts,
        Join(Differences(files_, TakeSnapshot({directory_ + "/outside", directory_ + "/ro",
                                               directory_ + "/bin"})),
             "; "));
  check("escape.host_sysctls", "what rules the host is as it was", "a host uid that is not root",
        Join(Differences(sysctls_, Sysctls()), "; "));
  std::vector<std::string> dangerous =
      DangerousFiles(directory_ + "/rw", directory_ + "/rw/device");
  for (std::string& line : DangerousFiles(directory_ + "/workspace", "")) {
    dangerous.push_back(std::move(line));
  }
  check("escape.host_set_id_files", "no set-uid file, no device", "seccomp", Join(dangerous, "; "));
  check("leak.host_ipc", "the host's IPC is as it was", "ipc namespace", WrongOf(CheckIpc()));
  check("leak.host_key", "the host's key is as it was", "a session keyring of its own",
        WrongOf(CheckKey()));
  check("leak.host_process", "the host's process runs on", "pid namespace",
        WrongOf(CheckProcess()));
  std::vector<std::string> heard_in_ro, heard_elsewhere;
  for (std::string& name : listeners_.TakeHeardByName()) {
    const bool in_ro = name.starts_with(directory_ + "/ro/");
    (in_ro ? heard_in_ro : heard_elsewhere).push_back(std::move(name));
  }
  check("network.host_unix_listeners", "they and the pipes hear nothing", "namespaces; Landlock",
        Join(heard_elsewhere, "; "));
  check("network.host_ro_listeners", "those in a read-only mount hear nothing",
        "the mount's mapping, in which no group has a number", Join(heard_in_ro, "; "));
  const std::string heard = Join(listeners_.TakeHeardOnLoopback(), "; ");
  if (!network_full) {
    check("network.host_listeners", "they receive nothing", "network namespace", heard);
  } else {
    results.push_back({.cell = cell,
                       .id = "works.host_listeners",
                       .verdict = heard.empty() ? ProbeVerdict::kBroken : ProbeVerdict::kWorks,
                       .detail = heard,
                       .safe = "what listens on the host's loopback receives"});
  }
  return results;
}

}  // namespace odyssey::ctl
