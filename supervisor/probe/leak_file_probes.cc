// Files that tell of the host, its users and its secrets.

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "common/os/unique_fd.h"
#include "supervisor/probe/answers.h"
#include "supervisor/probe/groups.h"

namespace odyssey::probe {
namespace {

constexpr char kMounts[] = "the mount namespace";
constexpr char kNotThere[] = "it is not there";

// Of the host, its users, or another daemon: never in a cell.
constexpr const char* kAbsent[] = {
    "/root",
    "/home",
    "/boot",
    "/srv",
    "/mnt",
    "/media",
    "/lost+found",
    "/var/lib",
    "/var/log",
    "/var/spool",
    "/var/cache",
    "/var/backups",
    "/var/mail",
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/shadow-",
    "/etc/sudoers",
    "/etc/sudoers.d",
    "/etc/ssh",
    "/etc/machine-id",
    "/etc/fstab",
    "/etc/crontab",
    "/etc/mtab",
    "/etc/odyssey",
    "/etc/environment",
    "/etc/ssl/private",
    "/etc/apt",
    "/etc/crypttab",
    "/etc/gitconfig",
    "/etc/krb5.keytab",
    "/etc/npmrc",
    "/etc/pip.conf",
    "/etc/profile",
    "/etc/subuid",
    "/etc/kubernetes",
    "/etc/docker",
    "/run/secrets",
    "/run/systemd",
    "/run/user",
    "/run/lock",
    "/run/mount",
    "/run/log",
    "/var/run/secrets",
    "/.dockerenv",
    "/sys/class/dmi/id/product_uuid",
};

Finding MustBeAbsent(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return MustBeRefused({-1, errno}, kRefusedOrAbsent);
  std::vector<std::string> names;
  if (!S_ISDIR(info.st_mode)) return MustNotOpen(path, O_RDONLY, kRefusedOrAbsent);
  if (!ListDirectory(path, &names)) return MustBeRefused({-1, errno}, kRefusedOrAbsent);
  return Escaped("it is there, with " + std::to_string(names.size()) + " names in it");
}

// World-readable on the host, and masked here; or root's there.
constexpr const char* kMasked[] = {
    "kallsyms",   "keys",       "key-users",   "cmdline",      "modules",     "config.gz",
    "kmsg",       "kcore",      "timer_list",  "slabinfo",     "vmallocinfo", "pagetypeinfo",
    "interrupts", "softirqs",   "sched_debug", "iomem",        "ioports",     "swaps",
    "kpageflags", "kpagecount", "kpagecgroup", "latency_stats"};
constexpr const char* kMaskedDirectories[] = {"acpi", "asound", "bus", "fs", "irq", "scsi"};

Finding MustHaveNothing(const std::string& path) {
  std::vector<std::string> names;
  if (!ListDirectory(path, &names) && errno == ENOENT) {
    return NotApplicable("this kernel does not have it");
  }
  return names.empty() ? Contained("empty") : Escaped("it has " + names.front());
}

Finding MustSayNothing(const std::string& path) {
  const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd && errno == ENOENT) return NotApplicable("this kernel does not have it");
  char words[64];  // some say whole numbers only
  const ssize_t n = fd ? read(fd.get(), words, sizeof(words)) : -1;
  if (n > 0) return Escaped("it says something");
  return Contained(n == 0 ? "empty" : ErrnoText(errno));
}

// Addresses, which tell where the kernel is; without the right to see them they are zero.
Finding MemoryMap(const Targets&) {
  std::istringstream lines(Slurp("/proc/iomem"));
  for (std::string line; std::getline(lines, line);) {
    if (line.find_first_of("123456789abcdef") < line.find(':')) return Escaped(line);
  }
  return Contained("no address in it");
}

Finding KernelLog(const Targets&) {
  char buffer[64];
  return MustBeRefused(Call(SYS_syslog, 3, buffer, sizeof(buffer)));
}

// The canary in a directory of the host that is not shown: it is world-readable there.
Finding ReadSecret(const std::string& path) {
  return MustNotOpen(path, O_RDONLY, kRefusedOrAbsent);
}

Finding SecretThroughLink(const Targets& targets) {
  const std::string link = targets.Text("rw") + "/link";
  if (symlink(targets.Text("secret").c_str(), link.c_str()) != 0) return BrokenAt("make a link");
  const Finding finding = ReadSecret(link);
  unlink(link.c_str());
  return finding;
}

Finding SecretAboveTheMounts(const Targets& targets) {
  for (const char* place : {"ro", "rw", "bin", "workspace"}) {
    const UniqueFd fd(open(targets.Text(place).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    for (std::string up = ".."; up.size() < 40; up += "/..") {
      const UniqueFd secret(openat(fd.get(), (up + targets.Text("secret")).c_str(), O_RDONLY));
      const UniqueFd beside(openat(fd.get(), (up + "/outside/secret").c_str(), O_RDONLY));
      if (secret || beside) return Escaped(up + " of " + targets.Text(place) + " leads to it");
    }
  }
  return Contained("no number of .. leads there");
}

Finding SecretThroughProcesses(const Targets& targets) {
  for (const pid_t pid : Processes()) {
    for (const char* way : {"root", "cwd"}) {
      const std::string path = "/proc/" + std::to_string(pid) + "/" + way + targets.Text("secret");
      const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
      if (fd) return Escaped(path + " leads to it");
    }
  }
  return Contained("no process leads there");
}

// A 0600 file of another user in a mounted directory.
Finding FileOfAnotherUser(const Targets& targets) {
  return MustNotOpen(targets.Text("ro") + "/of-another", O_RDONLY);
}

// The users that a cell knows.
Finding UsersOfTheHost(const Targets& targets) {
  if (IsOfImage(targets, "/etc/passwd")) return Contained(kOfImage);
  const std::set<std::string> own = {"root", "agent", "nobody"};
  std::istringstream lines(Slurp("/etc/passwd"));
  size_t users = 0;
  for (std::string line; std::getline(lines, line); ++users) {
    const std::string name = line.substr(0, line.find(':'));
    if (own.count(name) == 0) return Escaped("it names " + name);
  }
  return Contained(std::to_string(users) + " users of its own");
}

Finding HostName(const Targets& targets) {
  char name[256] = "";
  gethostname(name, sizeof(name) - 1);
  if (targets.Is("hostname", name)) return Escaped(name);
  if (Slurp("/etc/hostname").rfind(targets.Text("hostname"), 0) == 0)
    return Escaped("/etc/hostname");
  return Contained(name);
}

// Where the daemons keep their state is not shown, unless a directory of it is what is
// mounted.
Finding MountTable(const Targets& targets) {
  if (!targets.Is("tree", "memory")) return NotApplicable("the cell's own directories are there");
  const std::string table = Slurp("/proc/self/mountinfo", SIZE_MAX);
  for (const std::string& own : targets.All("own")) {
    if (table.find(own) != std::string::npos) return Escaped("it names " + own);
  }
  return Contained("no directory of the daemons in it");
}

Finding TerminalsOfTheHost(const Targets& targets) {
  std::vector<std::string> names;
  ListDirectory("/dev/pts", &names);
  names.erase(std::remove(names.begin(), names.end(), "ptmx"), names.end());
  const std::string& canary = targets.Text("terminal");
  if (names.empty()) return Contained("there is none");
  if (std::find(names.begin(), names.end(), canary) != names.end())
    return Escaped("/dev/pts/" + canary);
  return Contained("none of the host's");
}

}  // namespace

void AddLeakFileProbes(Probes* all) {
  const auto add = [all](const std::string& id, const char* safe, const char* layer,
                         Attempt attempt) {
    all->push_back({"leak." + id, safe, layer, std::move(attempt)});
  };
  for (const char* path : kAbsent) {
    add(std::string("path:") + path, kNotThere, kMounts, [path](const Targets& t) {
      return IsOfImage(t, path) ? Contained(kOfImage) : MustBeAbsent(path);
    });
  }
  for (const char* name : kMasked) {
    const std::string path = std::string("/proc/") + name;
    add("says_nothing:" + path, "empty or refused", "masked by cell-init",
        [path](const Targets&) { return MustSayNothing(path); });
  }
  for (const char* name : kMaskedDirectories) {
    const std::string path = std::string("/proc/") + name;
    add("says_nothing:" + path, "empty", "masked by cell-init",
        [path](const Targets&) { return MustHaveNothing(path); });
  }
  add("kernel_addresses", "no address is shown", "no capability", MemoryMap);
  add("kernel_log", "EPERM", "seccomp", KernelLog);
  const char* kUnread = "its text is never read";
  add("secret", kUnread, kMounts, [](const Targets& t) { return ReadSecret(t.Text("secret")); });
  add("secret_through_root", kUnread, kMounts,
      [](const Targets& t) { return ReadSecret("/proc/self/root" + t.Text("secret")); });
  add("secret_through_init", kUnread, kMounts,
      [](const Targets& t) { return ReadSecret("/proc/1/root" + t.Text("secret")); });
  add("secret_through_link", kUnread, kMounts, SecretThroughLink);
  add("secret_above_the_mounts", kUnread, kMounts, SecretAboveTheMounts);
  add("secret_through_processes", kUnread, kMounts, SecretThroughProcesses);
  add("file_of_another_user", "EACCES", "idmapped mounts", FileOfAnotherUser);
  add("users", "root, agent and nobody", kMounts, UsersOfTheHost);
  add("hostname", "a name of its own", "uts namespace", HostName);
  add("mount_table", "no directory of the daemons", "directories in memory", MountTable);
  add("terminals", "none of the host's", "a devpts of its own", TerminalsOfTheHost);
}

}  // namespace odyssey::probe
