#include "ctl/doctor/host_checks.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string_view>

#include "common/base/status.h"
#include "ctl/base/program_path.h"

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
      new_enough ? "" : "cells need Linux 5.14 or later (idmapped mounts, cgroup.kill): upgrade"};
}

Check CheckLandlock() {
  // landlock_create_ruleset(NULL, 0, LANDLOCK_CREATE_RULESET_VERSION).
  const long abi = syscall(SYS_landlock_create_ruleset, nullptr, 0, 1);
  if (abi > 0) return {"landlock", Verdict::kGood, "ABI " + std::to_string(abi), ""};
  return {"landlock", Verdict::kMissing, ErrnoStatus(errno, "landlock").message(),
          "build the kernel with CONFIG_SECURITY_LANDLOCK and boot with lsm=landlock,…"};
}

Check CheckExecutable(const std::string& name, const std::string& package) {
  for (const char* directory : {"/usr/bin/", "/usr/local/bin/", "/bin/"}) {
    const std::string path = directory + name;
    if (access(path.c_str(), X_OK) == 0) return {name, Verdict::kGood, path, ""};
  }
  return {name, Verdict::kMissing, "not found", "install it: apt-get install " + package};
}

Check CheckProgram(const std::string& name) {
  const Result<std::string> path = FindProgram(name);
  if (path.ok()) return {name, Verdict::kGood, *path, ""};
  return {name, Verdict::kMissing, path.status().message(),
          "build it, or install the odyssey package"};
}

Check CheckCgroups() {
  namespace fs = std::filesystem;
  std::error_code error;
  if (fs::exists("/sys/fs/cgroup/cgroup.controllers", error)) {
    return {"cgroups", Verdict::kGood, "v2 at /sys/fs/cgroup", ""};
  }
  if (fs::exists("/sys/fs/cgroup/memory", error) && fs::exists("/sys/fs/cgroup/pids", error)) {
    return {"cgroups", Verdict::kGood, "v1 controllers at /sys/fs/cgroup", ""};
  }
  return {"cgroups", Verdict::kMissing, "neither v2 nor v1 controllers at /sys/fs/cgroup",
          "mount cgroup2 on /sys/fs/cgroup; in a container, give it a writable cgroup"};
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

Check CheckProc() {
  if (geteuid() != 0) return {"proc", Verdict::kGood, "checked as root only", ""};
  const int error = TryNewProc();
  if (error == 0) return {"proc", Verdict::kGood, "cells get one of their own", ""};
  return {"proc", Verdict::kMissing, ErrnoStatus(error, "mount a new /proc").message(),
          "something is mounted below /proc, and the kernel shows no cell what that hides: run "
          "where /proc is whole; in a container, without its masked paths; as a service, without "
          "ProtectKernelTunables= and the like"};
}

Check CheckStateDirectory(const std::string& state) {
  if (geteuid() != 0) {
    return {"state", Verdict::kGood, state + " (checked by up, which runs as root)", ""};
  }
  std::string existing = state;
  while (existing.size() > 1 && access(existing.c_str(), F_OK) != 0) {
    existing = std::filesystem::path(existing).parent_path().string();
  }
  if (access(existing.c_str(), W_OK | X_OK) == 0) return {"state", Verdict::kGood, state, ""};
  return {"state", Verdict::kMissing, ErrnoStatus(errno, "write in " + existing).message(),
          "choose another directory with --state"};
}

}  // namespace

std::vector<Check> CheckHost(const Locations& locations) {
  std::vector<Check> checks = {CheckKernel(),
                               CheckLandlock(),
                               CheckCgroups(),
                               CheckProc(),
                               CheckExecutable("bwrap", "bubblewrap"),
                               CheckExecutable("rg", "ripgrep"),
                               CheckStateDirectory(locations.state)};
  for (const char* name : {"odyssey-supervisor", "odyssey-supervisor-rpc", "odyssey-agentd",
                           "odyssey-cell-init", "odyssey-cell-guard", "odyssey-probe"}) {
    checks.push_back(CheckProgram(name));
  }
  return checks;
}

Check CheckFeature(const std::string& name, bool in_force, const std::string& detail) {
  // Off is how danger_full_access should be.
  if (in_force || name == "danger_full_access") return {name, Verdict::kGood, detail, ""};
  // Landlock's later rights: a policy that relies on one is refused, others run without.
  const bool later_right = name.rfind("landlock_", 0) == 0;
  return {name, later_right ? Verdict::kWarning : Verdict::kMissing, "not in force", detail};
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
