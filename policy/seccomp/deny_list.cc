#include <asm/ioctls.h>

#include "policy/seccomp/rules.h"

namespace odyssey::seccomp {

const std::vector<const char*>& UnseenArguments() {
  static const std::vector<const char*> names = {"clone3", "openat2"};
  return names;
}

const std::vector<uint32_t>& DeniedIoctls() {
  // Typed into a terminal that someone else reads; the same through the console; line disciplines
  // are kernel modules loaded on demand.
  static const std::vector<uint32_t> requests = {TIOCSTI, TIOCLINUX, TIOCSETD};
  return requests;
}

// What the kernel itself refuses before anything else to whoever has no capability over the host
// (modules, reboot, swap, clocks) is not here: then commands' attempts can be told.
const std::vector<Group>& DeniedToInit() {
  static const std::vector<Group> groups = {
      {"keyrings are not namespaced", {"keyctl", "add_key", "request_key"}},
      {"programs and probes in the kernel", {"bpf", "perf_event_open", "lookup_dcookie"}},
      {"holds the kernel still in the middle of a copy: a tool of exploits", {"userfaultfd"}},
      {"does I/O that no filter sees", {"io_uring_setup", "io_uring_enter", "io_uring_register"}},
      {"opens files past every directory's permissions", {"open_by_handle_at"}},
      {"other processes' memory and descriptors",
       {"process_vm_readv", "process_vm_writev", "pidfd_getfd", "kcmp"}},
      {"the host's kernel log, quotas and file events",
       {"syslog", "quotactl", "quotactl_fd", "fanotify_init"}},
      {"rarely used corners of memory management",
       {"migrate_pages", "move_pages", "modify_ldt", "memfd_secret", "uselib"}},
  };
  return groups;
}

}  // namespace odyssey::seccomp
