#ifndef ODYSSEY_SUPERVISOR_HOST_RUNNER_GRANT_FILE_H_
#define ODYSSEY_SUPERVISOR_HOST_RUNNER_GRANT_FILE_H_

#include <string>
#include <vector>

#include "common/base/status.h"
#include "supervisor/host_runner/grants.h"

namespace odyssey::host_runner {

// The users that the grant file names, read anew. PERMISSION_DENIED unless the file is root's,
// regular, and writable by root only, and only root could put another one in its place. Every
// error names the file.
Result<std::vector<std::string>> ReadGrants(const std::string& path);

// The user as /etc/passwd has them; the name service would load code into this process. NOT_FOUND
// if it does not.
Result<HostUser> FindUser(uid_t uid, const std::string& passwd = "/etc/passwd");

}  // namespace odyssey::host_runner

#endif  // ODYSSEY_SUPERVISOR_HOST_RUNNER_GRANT_FILE_H_
