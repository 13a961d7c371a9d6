#include <asm/ioctls.h>
#include <linux/netlink.h>
#include <sys/socket.h>

#include "policy/seccomp/conditions.h"
#include "policy/seccomp/rules.h"

namespace odyssey::seccomp {
namespace {

// clone(2) takes the namespaces as flags among others: any one of them is refused.
constexpr uint64_t kNamespaceFlags[] = {CLONE_NEWNS,   CLONE_NEWCGROUP, CLONE_NEWUTS, CLONE_NEWIPC,
                                        CLONE_NEWUSER, CLONE_NEWPID,    CLONE_NEWNET};
// CLONE_NEWTIME; of unshare(2) only.
constexpr uint64_t kNewTime = 0x80;

void DenyNamespaces(std::vector<ArgumentRule>* rules) {
  for (const uint64_t flag : kNamespaceFlags) {
    rules->push_back({"clone", {HasBits(0, flag)}});
    rules->push_back({"unshare", {HasBits(0, flag)}});
  }
  rules->push_back({"unshare", {HasBits(0, kNewTime)}});
}

// All families but AF_UNIX, AF_INET, AF_INET6, and AF_NETLINK with NETLINK_ROUTE. A register whose
// upper half is not zero counts as a high family: no compiler passes such an int.
void DenySockets(std::vector<ArgumentRule>* rules) {
  for (uint32_t family = AF_UNIX; family < AF_NETLINK; ++family) {
    const bool known = family == AF_UNIX || family == AF_INET || family == AF_INET6;
    if (!known) rules->push_back({"socket", {Low(0, family)}});
  }
  rules->push_back({"socket", {Over(0, AF_NETLINK)}});
  rules->push_back({"socket", {Low(0, AF_NETLINK), Not(2, NETLINK_ROUTE)}});
  rules->push_back({"socketpair", {Not(0, AF_UNIX)}});
}

void DenySetIdModes(std::vector<ArgumentRule>* rules) {
  for (const uint64_t bit : {kSetUid, kSetGid}) {
    rules->push_back({"chmod", {HasBits(1, bit)}});
    rules->push_back({"fchmod", {HasBits(1, bit)}});
    rules->push_back({"fchmodat", {HasBits(2, bit)}});
    rules->push_back({"fchmodat2", {HasBits(2, bit)}});
    rules->push_back({"creat", {HasBits(1, bit)}});
    rules->push_back({"mknod", {HasBits(1, bit)}});
    rules->push_back({"mknodat", {HasBits(2, bit)}});
    for (const uint64_t flag : {uint64_t{O_CREAT}, kTemporaryFile}) {
      rules->push_back({"open", {HasBits(1, flag), HasBits(2, bit)}});
      rules->push_back({"openat", {HasBits(2, flag), HasBits(3, bit)}});
    }
  }
}

}  // namespace

const std::vector<const char*>& UnseenArguments() {
  static const std::vector<const char*> names = {"clone3"};
  return names;
}

const std::vector<const char*>& UnseenArgumentsOfCommands() {
  static const std::vector<const char*> names = {"openat2"};
  return names;
}

const std::vector<uint32_t>& DeniedIoctls() {
  // Typed into a terminal that someone else reads; the same through the console; line disciplines
  // are kernel modules loaded on demand.
  static const std::vector<uint32_t> requests = {TIOCSTI, TIOCLINUX, TIOCSETD};
  return requests;
}

const std::vector<Group>& DeniedToInit() {
  static const std::vector<Group> groups = {
      {"keyrings are not namespaced", {"keyctl", "add_key", "request_key"}},
      {"programs and probes in the kernel", {"bpf", "perf_event_open", "lookup_dcookie"}},
      {"holds the kernel still in the middle of a copy: a tool of exploits", {"userfaultfd"}},
      {"does I/O that no filter sees", {"io_uring_setup", "io_uring_enter", "io_uring_register"}},
      {"opens files past every directory's permissions", {"open_by_handle_at"}},
      {"other processes' memory and descriptors",
       {"process_vm_readv", "process_vm_writev", "pidfd_getfd", "kcmp"}},
      {"the running kernel and its modules",
       {"init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load"}},
      {"the machine as a whole",
       {"reboot", "swapon",     "swapoff",       "acct",          "quotactl",   "quotactl_fd",
        "iopl",   "ioperm",     "settimeofday",  "clock_settime", "adjtimex",   "clock_adjtime",
        "syslog", "vhangup",    "fanotify_init", "migrate_pages", "move_pages", "nfsservctl",
        "uselib", "modify_ldt", "memfd_secret"}},
  };
  return groups;
}

const std::vector<Group>& DeniedToCommands() {
  static const std::vector<Group> groups = {
      {"the view of the file system",
       {"mount", "umount2", "pivot_root", "chroot", "open_tree", "move_mount", "fsopen", "fsconfig",
        "fsmount", "fspick", "mount_setattr"}},
      {"the namespaces and their names", {"setns", "sethostname", "setdomainname"}},
  };
  return groups;
}

const std::vector<NumberedCall>& DeniedNewCalls() {
  static const std::vector<NumberedCall> calls = {{"open_tree_attr", 467}};
  return calls;
}

const std::vector<ArgumentRule>& DeniedWithArguments() {
  static const std::vector<ArgumentRule> rules = [] {
    std::vector<ArgumentRule> all;
    DenyNamespaces(&all);
    DenySockets(&all);
    DenySetIdModes(&all);
    return all;
  }();
  return rules;
}

}  // namespace odyssey::seccomp
