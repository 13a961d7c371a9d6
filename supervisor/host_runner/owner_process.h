#ifndef ODYSSEY_SUPERVISOR_HOST_RUNNER_OWNER_PROCESS_H_
#define ODYSSEY_SUPERVISOR_HOST_RUNNER_OWNER_PROCESS_H_

#include <sys/types.h>

#include <string>

#include "common/base/status.h"
#include "supervisor/host_runner/grants.h"
#include "supervisor/root/cgroup.h"

namespace odyssey::host_runner {

// The control groups that a process is born into.
struct Groups {
  root::CgroupTree* whole;  // the cell's, with the limits
  root::CgroupTree* parts;  // its subgroups
  std::string part;
};

// What the process does once it is the user's; [[noreturn]]. Its socket is kOwnerSocketFd.
using OwnerBody = void (*)(const std::string& argument);
inline constexpr int kOwnerSocketFd = 3;

// Forks a process that is `user` for good: the user's uid and primary group, no other group, no
// capability, no way to gain one, a session keyring of its own, no descriptor but /dev/null three
// times and `socket`. A failure is said on the socket, as cell-init says it. Runs as root with
// CAP_SETUID and CAP_SETGID and no_new_privs set. Caller must be single-threaded.
Result<pid_t> StartAsOwner(const HostUser& user, const Groups& groups, int socket, OwnerBody body,
                           const std::string& argument);

}  // namespace odyssey::host_runner

#endif  // ODYSSEY_SUPERVISOR_HOST_RUNNER_OWNER_PROCESS_H_
