#ifndef ODYSSEY_SUPERVISOR_HOST_RUNNER_GRANTS_H_
#define ODYSSEY_SUPERVISOR_HOST_RUNNER_GRANTS_H_

// Whom the operator lets have danger_full_access: the text of the grant file, and which uids never
// may, whatever it says. Pure.

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace odyssey::host_runner {

inline constexpr size_t kMaxGrantBytes = 16 * 1024;
inline constexpr size_t kMaxGrants = 256;
inline constexpr size_t kMaxNameBytes = 32;  // as useradd(8)

// A user as /etc/passwd has them.
struct HostUser {
  uid_t uid = 0;
  gid_t gid = 0;
  std::string name;
};

// One user name or uid a line; `#` begins a comment. INVALID_ARGUMENT names the line: of a file
// with one bad line nothing counts.
Result<std::vector<std::string>> ParseGrants(std::string_view text);

// True if one of the words of ParseGrants is the user's name or uid.
bool Names(const std::vector<std::string>& grants, const HostUser& user);

// The uids that are Odyssey's own. A process that may connect to the supervisor is believed about
// every user, so a command that runs as a client would be too.
struct OwnUids {
  uid_t rpc = 0;
  std::vector<uid_t> clients;
  uid_t first_cell = 0, last_cell = 0;  // both included
};

// PERMISSION_DENIED for uid 0 and for Odyssey's own, whatever is granted.
Status CheckUid(uid_t uid, const OwnUids& own);

}  // namespace odyssey::host_runner

#endif  // ODYSSEY_SUPERVISOR_HOST_RUNNER_GRANTS_H_
