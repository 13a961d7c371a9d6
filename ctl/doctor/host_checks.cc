#include "ctl/doctor/host_checks.h"

#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string_view>

#include "common/base/status.h"
#include "common/os/file.h"
#include "common/os/mount_calls.h"
#include "common/os/unique_fd.h"
#include "common/os/user_namespace.h"
#include "ctl/base/program_path.h"
#include "ctl/base/state_layout.h"
#include "ctl/daemon/namespace_obstacle.h"
#include "ctl/doctor/cgroup_check.h"

namespace odyssey::ctl {
namespace {

constexpr int kOldestKernelMajor = 5;
constexpr int kOldestKernelMinor = 14;  // cgroup.kill

Check CheckKernel() {
  utsname name{};
  uname(&name);
  int major = 0;
  int minor = 0;
  const bool known = sscanf(name.release, "%d.%d", &major, &minor) == 2;
  const bool new_enough = known && (major > kOldestKernelMajor ||
                                    (major == kOldestKernelMajor && minor >= kOldestKernelMinor));
  return {
      "kernel", new_enough ? Verdict::kGood : Verdict::kMissing,
      std::string("Linux ") + name.release,
      new_enough ? "" : "cells need Linux 5.14 or later (idmapped mounts, cgroup.kill): upgrade",
      new_enough ? "" : "apt-get install linux-image-amd64"};
}

Check CheckLandlock() {
  // landlock_create_ruleset(NULL, 0, LANDLOCK_CREATE_RULESET_VERSION).
  const long abi = syscall(SYS_landlock_create_ruleset, nullptr, 0, 1);
  if (abi > 0) return {"landlock", Verdict::kGood, "ABI " + std::to_string(abi), "", ""};
  const int error = errno;
  const std::string why = ErrnoStatus(error, "landlock").message();
  if (error == EOPNOTSUPP) {  // built in, and left out of the list at boot
    return {"landlock", Verdict::kMissing, why + ": not among the security modules of this boot",
            "boot with landlock in lsm=, then restart",
            "echo 'GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX "
            "lsm=landlock,lockdown,yama,integrity,apparmor,bpf\"' "
            ">/etc/default/grub.d/landlock.cfg && update-grub"};
  }
  return {
      "landlock", Verdict::kMissing, why + ": not in this kernel",
      "use a kernel with CONFIG_SECURITY_LANDLOCK; in a container, a seccomp filter may hide it",
      "apt-get install linux-image-amd64"};
}

Check CheckExecutable(const std::string& name, const std::string& package) {
  for (const char* directory : {"/usr/bin/", "/usr/local/bin/", "/bin/"}) {
    const std::string path = directory + name;
    if (access(path.c_str(), X_OK) == 0) return {name, Verdict::kGood, path, "", ""};
  }
  return {name, Verdict::kMissing, "not found", "install it", "apt-get install " + package};
}

// What the supervisor runs: launch.h.
constexpr char kBwrap[] = "/usr/bin/bwrap";
constexpr int kOldestBwrapMinor = 4;  // 0.4.0: --userns

Check CheckBwrap() {
  const std::string install = "apt-get install bubblewrap";
  if (access(kBwrap, X_OK) != 0) {
    return {"bwrap", Verdict::kMissing, std::string(kBwrap) + " not found", "install it", install};
  }
  const std::unique_ptr<FILE, int (*)(FILE*)> out(
      popen((std::string(kBwrap) + " --version 2>/dev/null").c_str(), "re"), pclose);
  int major = 0;
  int minor = 0;
  int patch = 0;
  if (!out || fscanf(out.get(), "bubblewrap %d.%d.%d", &major, &minor, &patch) < 2) {
    return {"bwrap", Verdict::kMissing, std::string(kBwrap) + " does not tell its version",
            "install Debian's", "apt-get install --reinstall bubblewrap"};
  }
  const std::string found = std::string(kBwrap) + " " + std::to_string(major) + "." +
                            std::to_string(minor) + "." + std::to_string(patch);
  if (major > 0 || minor >= kOldestBwrapMinor) return {"bwrap", Verdict::kGood, found, "", ""};
  return {"bwrap", Verdict::kMissing, found + " is too old",
          "cells need bubblewrap 0.4.0 or later (--userns)", install};
}

// The word in a file of the kernel's; "" if there is none.
std::string KernelWord(const std::string& path) {
  const auto text = ReadFile(path, 4096);
  return text.ok() ? text->substr(0, text->find('\n')) : "";
}

// Root makes the namespaces of cells: what restricts other users does not reach it, and a bound of
// zero does. Of another user `up` makes them.
Check CheckUserNamespaces() {
  if (geteuid() != 0) {
    const std::optional<NamespaceObstacle> obstacle = FindNamespaceObstacle();
    if (!obstacle) return {"user namespaces", Verdict::kGood, "allowed without root", "", ""};
    return {"user namespaces", Verdict::kMissing, obstacle->detail, obstacle->advice,
            obstacle->mend};
  }
  if (KernelWord("/proc/sys/user/max_user_namespaces") == "0") {
    return {"user namespaces", Verdict::kMissing, "user.max_user_namespaces is 0",
            "each cell has one: allow them, and keep it in /etc/sysctl.d",
            "sysctl -w user.max_user_namespaces=65536"};
  }
  std::string restricted;
  if (KernelWord("/proc/sys/kernel/unprivileged_userns_clone") == "0") {
    restricted += " kernel.unprivileged_userns_clone=0";
  }
  if (KernelWord("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1") {
    restricted += " kernel.apparmor_restrict_unprivileged_userns=1";
  }
  return {"user namespaces", Verdict::kGood,
          restricted.empty() ? "allowed"
                             : "restricted to root, which makes those of cells:" + restricted,
          "", ""};
}

// A profile that is attached to bubblewrap confines pid 1 of each cell: it is denied the
// capabilities that set a cell up.
Check CheckAppArmor() {
  const auto profiles = ReadFile("/sys/kernel/security/apparmor/profiles", 1 << 20);
  if (!profiles.ok()) return {"apparmor", Verdict::kGood, "off, or not to be read", "", ""};
  std::istringstream lines(*profiles);
  for (std::string line; std::getline(lines, line);) {
    const std::string name = line.substr(0, line.find(" ("));
    const bool of_bwrap = name == "bwrap" || name == "bwrap-userns-restrict" || name == kBwrap;
    if (!of_bwrap || line.find("(enforce)") == line.npos) continue;
    return {"apparmor", Verdict::kMissing, "the profile " + name + " confines " + kBwrap,
            "it denies a cell's pid 1 the capabilities that it needs: disable it",
            std::string("aa-disable ") + kBwrap};
  }
  return {"apparmor", Verdict::kGood, "no profile confines bubblewrap", "", ""};
}

Check CheckDevice(const std::string& name, const std::string& path, dev_t number,
                  const std::string& module, const std::string& what) {
  struct stat info {};
  if (stat(path.c_str(), &info) == 0 && S_ISCHR(info.st_mode) && info.st_rdev == number) {
    return {name, Verdict::kGood, path, "", ""};
  }
  return {name, Verdict::kWarning, path + " is not there", what + " is refused without it",
          "modprobe " + module + " && { [ -c " + path + " ] || mknod -m 600 " + path + " c " +
              std::to_string(major(number)) + " " + std::to_string(minor(number)) + "; }"};
}

Check CheckProgram(const std::string& name) {
  const Result<std::string> path = FindProgram(name);
  if (path.ok()) return {name, Verdict::kGood, *path, "", ""};
  return {name, Verdict::kMissing, path.status().message(),
          "build it, or install the odyssey package", "apt-get install odyssey"};
}

// Whether a process that is root of a user namespace only gets a /proc of its own, as each cell
// does: 0, or the errno of what failed.
int TryNewProc() {
  const pid_t outer = fork();
  if (outer == 0) {
    if (unshare(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID) != 0) _exit(errno);
    const pid_t inner = fork();  // the first in the new pid namespace
    if (inner == 0) _exit(mount("proc", "/proc", "proc", 0, nullptr) == 0 ? 0 : errno);
    int status = 0;
    _exit(waitpid(inner, &status, 0) == inner && WIFEXITED(status) ? WEXITSTATUS(status) : EIO);
  }
  int status = 0;
  return waitpid(outer, &status, 0) == outer && WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
}

// What is mounted below /proc, as words of a command.
std::string MountsBelowProc() {
  std::string out;
  const std::unique_ptr<FILE, int (*)(FILE*)> mounts(setmntent("/proc/self/mounts", "re"),
                                                     endmntent);
  // Only this thread reads this file.
  for (const mntent* mount;
       mounts && (mount = getmntent(mounts.get())) != nullptr;) {  // NOLINT(concurrency-mt-unsafe)
    const std::string at = mount->mnt_dir;
    if (at.rfind("/proc/", 0) == 0) out += (out.empty() ? "" : " ") + at;
  }
  return out;
}

Check CheckProc() {
  if (geteuid() != 0) return {"proc", Verdict::kGood, "checked as root only", "", ""};
  const int error = TryNewProc();
  if (error == 0) return {"proc", Verdict::kGood, "cells get one of their own", "", ""};
  const std::string why = ErrnoStatus(error, "mount a new /proc").message();
  const std::string over = MountsBelowProc();
  if (over.empty()) {
    return {"proc", Verdict::kMissing, why, "a cell has user, mount and pid namespaces: allow them",
            ""};
  }
  return {"proc", Verdict::kMissing, why + ": mounted over: " + over,
          "something is mounted below /proc, and the kernel shows no cell what that hides: run "
          "where /proc is whole; in a container, without its masked paths; as a service, without "
          "ProtectKernelTunables= and the like",
          "umount " + over};
}

// The nearest directory that is there.
std::string ExistingAbove(std::string path) {
  while (path.size() > 1 && access(path.c_str(), F_OK) != 0) {
    path = std::filesystem::path(path).parent_path().string();
  }
  return path;
}

// Makes the idmapped mount that a cell's directories get, detached, and drops it.
Status TryIdmap(const std::string& path) {
  const UniqueFd directory(open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!directory) return ErrnoStatus(errno, "open " + path);
  constexpr uid_t kAnyId = 0x70000000;
  ODY_ASSIGN_OR_RETURN(const UniqueFd map,
                       MakeMappingNamespace(kAnyId, kAnyId, kAnyId + 1, kAnyId + 1));
  ODY_ASSIGN_OR_RETURN(const UniqueFd tree, CloneTree(directory.get(), path));
  return SetAttributes(tree.get(), {.idmap_namespace = map.get()}, path);
}

Check CheckIdmap(const std::string& state) {
  if (geteuid() != 0) return {"idmap", Verdict::kGood, "checked as root only", "", ""};
  const std::string existing = ExistingAbove(state);
  const Status status = TryIdmap(existing);
  if (status.ok()) return {"idmap", Verdict::kGood, existing, "", ""};
  return {
      "idmap", Verdict::kMissing, status.message(),
      "directories of cells are mounted with mapped owners: put the state on ext4, xfs or btrfs",
      state == "/var/lib/odyssey" ? "odyssey-ctl --state /srv/odyssey up"
                                  : "odyssey-ctl --state /var/lib/odyssey up"};
}

Check CheckUsers() {
  const DaemonIdentities ids = ChooseIdentities();
  std::string absent;
  const auto look = [&](const char* name, bool is_there) {
    if (!is_there) absent += (absent.empty() ? "" : " ") + std::string(name);
  };
  look("odyssey-rpc", ids.rpc.uid != kFallbackRpcId);
  look("odyssey-agentd", ids.agentd.uid != kFallbackAgentdId);
  look("odyssey-egress", ids.egress.uid != kFallbackEgressId);
  if (absent.empty()) return {"users", Verdict::kGood, "of the daemons: each its own", "", ""};
  const char* units[] = {"/lib/systemd/system/odyssey-supervisor.service",
                         "/usr/lib/systemd/system/odyssey-supervisor.service"};
  const bool services = std::any_of(std::begin(units), std::end(units),
                                    [](const char* unit) { return access(unit, F_OK) == 0; });
  if (!services) {
    return {"users", Verdict::kGood, "no " + absent + ": up uses fixed uids", "", ""};
  }
  return {"users", Verdict::kMissing, "missing: " + absent, "the services run as these users",
          "systemd-sysusers && systemd-tmpfiles --create"};
}

Check CheckStateDirectory(const std::string& state) {
  const std::string existing = ExistingAbove(state);
  if (access(existing.c_str(), W_OK | X_OK) == 0) return {"state", Verdict::kGood, state, "", ""};
  return {"state", Verdict::kMissing, ErrnoStatus(errno, "write in " + existing).message(),
          "choose another directory with --state, or make it writable",
          "mkdir -p " + state + " && chown " + std::to_string(geteuid()) + " " + state +
              " && chmod 755 " + state};
}

}  // namespace

std::vector<Check> CheckHost(const Locations& locations) {
  std::vector<Check> checks = {
      CheckKernel(),
      CheckLandlock(),
      JudgeCgroups(FindCgroupMounts()),
      CheckProc(),
      CheckBwrap(),
      CheckExecutable("rg", "ripgrep"),
      CheckUserNamespaces(),
      CheckAppArmor(),
      CheckDevice("fuse", "/dev/fuse", makedev(10, 229), "fuse", "a policy with denied names"),
      CheckDevice("loop", "/dev/loop-control", makedev(10, 237), "loop", "a policy with disk_mb"),
      CheckUsers(),
      CheckIdmap(locations.state),
      CheckStateDirectory(locations.state)};
  for (const char* name :
       {"odyssey-supervisor", "odyssey-supervisor-rpc", "odyssey-agentd", "odyssey-egress",
        "odyssey-egress-worker", "odyssey-cell-init", "odyssey-cell-guard", "odyssey-probe"}) {
    checks.push_back(CheckProgram(name));
  }
  return checks;
}

Check CheckFeature(const std::string& name, bool in_force, const std::string& detail) {
  // Off is how danger_full_access should be.
  if (in_force || name == "danger_full_access") return {name, Verdict::kGood, detail, "", ""};
  // Landlock's later rights, and what is weaker without root: a policy that relies on one is
  // refused, others run without.
  const bool weaker = name.rfind("landlock_", 0) == 0 || name.starts_with(kWeaknessPrefix);
  return {name, weaker ? Verdict::kWarning : Verdict::kMissing, "not in force", detail};
}

std::string VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kGood:
      return "good";
    case Verdict::kWarning:
      return "warning";
    case Verdict::kMissing:
      return "missing";
  }
  return "";
}

}  // namespace odyssey::ctl
