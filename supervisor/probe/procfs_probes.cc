// /proc, /sys and control groups: what a process that is root to the kernel rules the host with.
//
// Files are opened for writing and closed. Nothing is written: one that opens is the finding.

#include <fcntl.h>
#include <ftw.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "common/os/unique_fd.h"
#include "supervisor/probe/answers.h"
#include "supervisor/probe/groups.h"

namespace odyssey::probe {
namespace {

constexpr char kSafe[] = "opening it for writing is refused";
constexpr char kLayer[] = "a host uid that is not root; Landlock";
constexpr char kCorePattern[] = "/proc/sys/kernel/core_pattern";

// Files that make the kernel run a program, change a setting of the whole host, or stop it.
constexpr const char* kFiles[] = {
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/kernel/modprobe",
    "/proc/sys/kernel/hotplug",
    "/proc/sys/kernel/sysrq",
    "/proc/sys/kernel/panic",
    "/proc/sys/kernel/randomize_va_space",
    "/proc/sys/kernel/unprivileged_bpf_disabled",
    "/proc/sys/kernel/kptr_restrict",
    "/proc/sys/kernel/usermodehelper/bset",
    "/proc/sys/kernel/yama/ptrace_scope",
    "/proc/sys/fs/binfmt_misc/register",
    "/proc/sys/fs/suid_dumpable",
    "/proc/sys/fs/protected_symlinks",
    "/proc/sys/vm/drop_caches",
    "/proc/sys/vm/overcommit_memory",
    "/proc/sys/net/ipv4/ip_forward",
    "/proc/sysrq-trigger",
    "/proc/irq/default_smp_affinity",
    "/proc/mtrr",
    "/proc/self/uid_map",
    "/proc/self/oom_score_adj",
    "/proc/self/attr/current",
};

Finding ReopenedCorePattern(const Targets&) {
  const UniqueFd path(open(kCorePattern, O_PATH | O_CLOEXEC));
  if (!path) return Contained("it cannot even be named: " + ErrnoText(errno));
  return MustNotOpen("/proc/self/fd/" + std::to_string(path.get()), O_WRONLY);
}

size_t sysctls_seen = 0;
std::string sysctl_opened;  // NOLINT: nftw(3) passes no argument on

int OpenSysctl(const char* path, const struct stat*, int type, FTW*) {
  if (type != FTW_F) return 0;
  ++sysctls_seen;
  const UniqueFd fd(open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd) sysctl_opened = path;
  return fd ? 1 : 0;
}

Finding EverySysctl(const Targets&) {
  nftw("/proc/sys", OpenSysctl, 16, FTW_PHYS);
  if (!sysctl_opened.empty()) return Escaped(sysctl_opened + " opened for writing");
  if (sysctls_seen < 100) return Broken("only " + std::to_string(sysctls_seen) + " were found");
  return Contained(std::to_string(sysctls_seen) + " refused");
}

// Of the kernel's object tree: directories of the cell's own, and what each has.
constexpr struct {
  const char* directory;
  std::array<std::string_view, 2> names;
} kOfSys[] = {{"/sys", {"devices", "fs"}},
              {"/sys/devices", {"system"}},
              {"/sys/devices/system", {"cpu"}},
              {"/sys/devices/system/cpu", {"online"}},
              {"/sys/fs", {"cgroup"}}};

Finding SysIsShown(const Targets&) {
  for (const auto& [directory, known] : kOfSys) {
    std::vector<std::string> names;
    if (!ListDirectory(directory, &names)) return Contained(ErrnoText(errno));
    for (const std::string& name : names) {
      const bool own = std::find(known.begin(), known.end(), name) != known.end();
      if (!own) return Escaped(std::string(directory) + " shows " + name);
    }
  }
  return Contained("control groups and a file of processors");
}

// What nftw(3) has found below /sys/fs/cgroup; it passes no argument on.
size_t group_files_seen = 0;
std::string group_opened;  // NOLINT
std::string group_inside;  // NOLINT

int LookAtGroup(const char* path, const struct stat*, int type, FTW*) {
  const std::string name = path;
  const auto is_group = [](const std::string& directory) {
    return access((directory + "/cgroup.procs").c_str(), F_OK) == 0;
  };
  if (type == FTW_D && is_group(name) && is_group(name + "/..")) group_inside = name;
  if (type != FTW_F) return 0;
  ++group_files_seen;
  const UniqueFd fd(open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd) group_opened = path;
  return 0;
}

Finding ControlGroups(const std::string* escaped) {
  nftw("/sys/fs/cgroup", LookAtGroup, 16, FTW_PHYS);
  if (!escaped->empty()) return Escaped(*escaped);
  if (group_files_seen == 0) return NotApplicable("this kernel shows a cell none");
  return Contained(std::to_string(group_files_seen) + " files of the cell's own groups");
}

Finding SysIsWritten(const Targets&) {
  for (const char* path : {"/sys/kernel/uevent_helper", "/sys/power/state", "/sys/kernel/profiling",
                           "/sys/kernel/rcu_normal", "/sys/kernel/mm/hugepages"}) {
    const UniqueFd fd(open(path, O_WRONLY | O_CLOEXEC));
    if (fd) return Escaped(std::string(path) + " opened for writing");
  }
  return Contained(ErrnoText(errno));
}

Finding ControlGroupIsMade(const Targets&) {
  for (const std::string parent :
       {"/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/memory"}) {
    const std::string path = parent + "/odyssey-probe";
    if (mkdir(path.c_str(), 0700) != 0) continue;
    rmdir(path.c_str());
    return Escaped(parent + " takes new groups");
  }
  return Contained(ErrnoText(errno));
}

// CVE-2022-0492: the release_agent of a hierarchy that one mounts oneself runs as root.
Finding ControlGroupsAreMounted(const char* type, const char* options) {
  const Answer answer = Answered(mount("odyssey-probe", ".", type, 0, options));
  if (answer.result == 0) umount2(".", MNT_DETACH);
  return MustBeRefused(answer, {EPERM});
}

}  // namespace

void AddProcfsProbes(Probes* all) {
  for (const char* path : kFiles) {
    const std::string name = path;
    all->push_back({"escape.write:" + name, kSafe, kLayer,
                    [name](const Targets&) { return MustNotOpen(name, O_WRONLY); }});
  }
  all->push_back(
      {"escape.every_sysctl", "none of /proc/sys opens for writing", kLayer, EverySysctl});
  all->push_back({"escape.core_pattern_reopened", kSafe, kLayer, ReopenedCorePattern});
  all->push_back({"escape.core_pattern_through_root", kSafe, kLayer, [](const Targets&) {
                    return MustNotOpen(std::string("/proc/self/root") + kCorePattern, O_WRONLY);
                  }});
  const char* kMounts = "the mount namespace has no sysfs";
  all->push_back(
      {"escape.sys_shown", "/sys has the cell's directories alone", kMounts, SysIsShown});
  const char* kGroups = "the cgroup namespace; read-only mounts";
  all->push_back({"escape.cgroups_shown", "no group but the cell's own is there", kGroups,
                  [](const Targets&) { return ControlGroups(&group_inside); }});
  all->push_back({"escape.cgroups_written", "no file of a group opens for writing", kGroups,
                  [](const Targets&) { return ControlGroups(&group_opened); }});
  all->push_back(
      {"escape.sys_written", "nothing of /sys opens for writing", kMounts, SysIsWritten});
  all->push_back({"escape.cgroup_made", "no control group is made", kMounts, ControlGroupIsMade});
  all->push_back({"escape.cgroup_v1_mounted", "the mount is refused", "seccomp",
                  [](const Targets&) { return ControlGroupsAreMounted("cgroup", "memory"); }});
  all->push_back({"escape.cgroup_v2_mounted", "the mount is refused", "seccomp",
                  [](const Targets&) { return ControlGroupsAreMounted("cgroup2", nullptr); }});
}

}  // namespace odyssey::probe
