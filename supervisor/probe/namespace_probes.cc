// Making namespaces, in which everything else would be within reach again, and entering others'.

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "common/os/unique_fd.h"
#include "supervisor/probe/answers.h"
#include "supervisor/probe/groups.h"

namespace odyssey::probe {
namespace {

constexpr char kSeccomp[] = "seccomp";

struct Kind {
  const char* name;
  unsigned long flag;
};

constexpr unsigned long kNewTime = 0x80;  // CLONE_NEWTIME
constexpr Kind kKinds[] = {
    {"user", CLONE_NEWUSER},     {"mnt", CLONE_NEWNS},  {"pid", CLONE_NEWPID},
    {"net", CLONE_NEWNET},       {"ipc", CLONE_NEWIPC}, {"uts", CLONE_NEWUTS},
    {"cgroup", CLONE_NEWCGROUP}, {"time", kNewTime},
};

// Reaps the child that should not be there.
Finding MustNotFork(const Answer& child, const Errnos& refusals) {
  if (child.result == 0) _exit(0);
  if (child.result > 0) waitpid(static_cast<pid_t>(child.result), nullptr, 0);
  return MustBeRefused(child, refusals);
}

Finding Clone(unsigned long flags) {
  return MustNotFork(Call(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0), {EPERM});
}

// Its flags stand in memory, where no filter sees them; so libc is told that it is not there.
Finding Clone3(unsigned long flags) {
  uint64_t arguments[11] = {flags, 0, 0, 0, SIGCHLD};
  const Finding finding =
      MustNotFork(Call(SYS_clone3, arguments, sizeof(arguments)), {ENOSYS, EPERM});
  return finding;
}

Finding EnterOwn(const char* name) {
  const UniqueFd fd(open((std::string("/proc/self/ns/") + name).c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd) return NotApplicable("this kernel has no such namespace");
  return MustBeRefused(Call(SYS_setns, fd.get(), 0), {EPERM});
}

Finding EnterByProcess(const Targets&) {
  const UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0)));
  return MustBeRefused(Call(SYS_setns, process.get(), CLONE_NEWUTS), {EPERM});
}

// Every namespace that can be seen in /proc, of any owner.
Finding EnterAny(const Targets&) {
  size_t tried = 0;
  for (const pid_t pid : Processes()) {
    for (const Kind& kind : kKinds) {
      const std::string path = "/proc/" + std::to_string(pid) + "/ns/" + kind.name;
      const UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
      if (!fd) continue;
      ++tried;
      const Answer answer = Call(SYS_setns, fd.get(), 0);
      if (answer.result == 0 || answer.error != EPERM) return Escaped(path + " was entered");
    }
  }
  return Contained(std::to_string(tried) + " refused");
}

// By the numbers that the host sees of its own.
Finding IsTheHosts(const std::string& word, const Targets& targets) {
  const std::string name = word.substr(0, word.find('='));
  if (name == "net" && targets.Is("network", "full")) {
    return NotApplicable("this cell has the host's network");
  }
  char link[64] = "";
  if (readlink(("/proc/self/ns/" + name).c_str(), link, sizeof(link) - 1) < 0) {
    return BrokenAt("read the namespace");
  }
  return word == name + "=" + link ? Escaped("it is the host's") : Contained(link);
}

// With a user namespace, one's own /proc, whose sysctls know no host any more.
Finding ProcOfANestedNamespace(const Targets&) {
  const Answer unshared = Call(SYS_unshare, CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS);
  if (unshared.result < 0) return MustBeRefused(unshared, {EPERM});
  const pid_t child = fork();
  if (child == 0) {
    const bool mounted = mount("proc", ".", "proc", 0, nullptr) == 0;
    _exit(mounted && open("sys/kernel/core_pattern", O_WRONLY | O_CLOEXEC) >= 0 ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return Escaped(WEXITSTATUS(status) == 1 ? "core_pattern opened for writing"
                                          : "the namespaces were made");
}

}  // namespace

void AddNamespaceProbes(const Targets& targets, Probes* all) {
  const auto add = [all](const std::string& id, const char* safe, const char* layer,
                         Attempt attempt) {
    all->push_back({"namespaces." + id, safe, layer, std::move(attempt)});
  };
  for (const Kind& kind : kKinds) {
    const unsigned long flag = kind.flag;
    add(std::string("unshare_") + kind.name, "EPERM", kSeccomp,
        [flag](const Targets&) { return MustBeRefused(Call(SYS_unshare, flag), {EPERM}); });
    if (flag != kNewTime) {  // clone(2) takes its bit for part of the signal
      add(std::string("clone_") + kind.name, "EPERM", kSeccomp,
          [flag](const Targets&) { return Clone(flag); });
    }
    add(std::string("clone3_") + kind.name, "ENOSYS", kSeccomp,
        [flag](const Targets&) { return Clone3(flag); });
    add(std::string("enter_own_") + kind.name, "EPERM", kSeccomp,
        [&kind](const Targets&) { return EnterOwn(kind.name); });
  }
  // A filter that compares the whole register would let it pass: the kernel reads 32 bits of it.
  add("unshare_user_high_bits", "EPERM", kSeccomp, [](const Targets&) {
    return MustBeRefused(Call(SYS_unshare, CLONE_NEWUSER | 1UL << 32), {EPERM});
  });
  add("clone_user_high_bits", "EPERM", kSeccomp,
      [](const Targets&) { return Clone(CLONE_NEWUSER | 1UL << 32); });
  for (const std::string& word : targets.All("namespace")) {
    add("own_" + word.substr(0, word.find('=')), "not the host's", "bubblewrap",
        [word](const Targets& t) { return IsTheHosts(word, t); });
  }
  add("enter_by_process", "EPERM", kSeccomp, EnterByProcess);
  add("enter_any", "EPERM", kSeccomp, EnterAny);
  add("proc_of_a_nested_namespace", "EPERM", kSeccomp, ProcOfANestedNamespace);
}

namespace {

constexpr char kMountSafe[] = "EPERM";

// What succeeds ends with this process, if it may have a view of its own to try it in.
void LeaveTheView() {
  if (syscall(SYS_unshare, CLONE_NEWNS) != 0) return;
  mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
}

// The directories and masks that a cell is made of.
Finding Unmount(const std::string& path) {
  LeaveTheView();
  return MustBeRefused(Call(SYS_umount2, path.c_str(), MNT_DETACH), {EPERM});
}

struct MountCase {
  const char* id;
  Answer (*attempt)(const Targets&);
};

long Room() {
  static char room[256];
  return reinterpret_cast<long>(room);
}

// Made on an empty directory of the probe's own, or with unused names.
const MountCase kMounts[] = {
    {"tmpfs", [](const Targets&) { return Call(SYS_mount, "t", ".", "tmpfs", 0, nullptr); }},
    {"proc", [](const Targets&) { return Call(SYS_mount, "p", ".", "proc", 0, nullptr); }},
    {"sysfs", [](const Targets&) { return Call(SYS_mount, "s", ".", "sysfs", 0, nullptr); }},
    {"overlay",
     [](const Targets& t) {
       const std::string options = "lowerdir=" + t.Text("ro") + ":/proc";
       return Call(SYS_mount, "o", ".", "overlay", 0, options.c_str());
     }},
    {"bind_root",
     [](const Targets&) { return Call(SYS_mount, "/", ".", nullptr, MS_BIND, nullptr); }},
    {"bind_over_read_only",
     [](const Targets& t) {
       return Call(SYS_mount, t.Text("rw").c_str(), t.Text("ro").c_str(), nullptr, MS_BIND,
                   nullptr);
     }},
    {"remount_read_only",
     [](const Targets& t) {
       return Call(SYS_mount, nullptr, t.Text("ro").c_str(), nullptr, MS_REMOUNT | MS_BIND,
                   nullptr);
     }},
    {"remount_usr",
     [](const Targets&) {
       return Call(SYS_mount, nullptr, "/usr", nullptr, MS_REMOUNT | MS_BIND, nullptr);
     }},
    {"make_shared",
     [](const Targets&) { return Call(SYS_mount, nullptr, "/", nullptr, MS_SHARED, nullptr); }},
    {"pivot_root", [](const Targets&) { return Call(SYS_pivot_root, ".", "."); }},
    {"open_tree", [](const Targets&) { return Call(SYS_open_tree, AT_FDCWD, "/", 0); }},
    {"clone_tree",
     [](const Targets& t) { return Call(SYS_open_tree, AT_FDCWD, t.Text("ro").c_str(), 1); }},
    {"clone_tree_of_mask",
     [](const Targets&) { return Call(SYS_open_tree, AT_FDCWD, "/proc/kallsyms", 1); }},
    {"move_mount",
     [](const Targets&) { return Call(SYS_move_mount, AT_FDCWD, "/odyssey", AT_FDCWD, ".", 0); }},
    {"fsopen", [](const Targets&) { return Call(SYS_fsopen, "tmpfs", 0); }},
    {"fsconfig", [](const Targets&) { return Call(SYS_fsconfig, -1, 0, nullptr, nullptr, 0); }},
    {"fsmount", [](const Targets&) { return Call(SYS_fsmount, -1, 0, 0); }},
    {"fspick", [](const Targets&) { return Call(SYS_fspick, AT_FDCWD, "/usr", 0); }},
    {"mount_setattr",
     [](const Targets& t) {
       const uint64_t attributes[4] = {0, 1, 0, 0};  // clear MOUNT_ATTR_RDONLY
       return Call(SYS_mount_setattr, AT_FDCWD, t.Text("ro").c_str(), 0, attributes, 32);
     }},
    {"open_tree_attr",  // Linux 6.15
     [](const Targets&) { return Call(467, AT_FDCWD, "/usr", 0, Room(), 32); }},
    {"statmount", [](const Targets&) { return Call(457, Room(), Room(), 0, 0); }},
    {"listmount", [](const Targets&) { return Call(458, Room(), Room(), 0, 0); }},
    // Longer than any name may be: refused for that where it is not refused before.
    {"sethostname", [](const Targets&) { return Call(SYS_sethostname, Room(), 200); }},
    {"setdomainname", [](const Targets&) { return Call(SYS_setdomainname, Room(), 200); }},
};

}  // namespace

void AddMountProbes(Probes* all) {
  for (const MountCase& test : kMounts) {
    // What is newer than the filter is not there for it.
    const bool newer = std::string_view(test.id) == "open_tree_attr";
    const Errnos refusals = newer ? Errnos{EPERM, ENOSYS} : Errnos{EPERM};
    all->push_back({std::string("namespaces.mount_") + test.id, kMountSafe, kSeccomp,
                    [&test, refusals](const Targets& t) {
                      LeaveTheView();
                      return MustBeRefused(test.attempt(t), refusals);
                    }});
  }
  for (const char* path : {"/proc", "/proc/kallsyms", "/usr", "/dev", "/workspace"}) {
    all->push_back({std::string("namespaces.unmount:") + path, kMountSafe, kSeccomp,
                    [path](const Targets&) { return Unmount(path); }});
  }
  all->push_back({"namespaces.unmount_read_only", kMountSafe, kSeccomp,
                  [](const Targets& t) { return Unmount(t.Text("ro")); }});
}

}  // namespace odyssey::probe
