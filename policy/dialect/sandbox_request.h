#ifndef ODYSSEY_POLICY_DIALECT_SANDBOX_REQUEST_H_
#define ODYSSEY_POLICY_DIALECT_SANDBOX_REQUEST_H_

// A manifest's sandbox + what the client and the operator add → the request that the supervisor
// compiles. Pure.

#include <map>
#include <optional>
#include <set>
#include <string>

#include "common/base/status.h"
#include "policy/dialect/bundle.h"
#include "policy/dialect/schema.h"
#include "policy/model/request.h"

namespace odyssey::dialect {

struct RequestContext {
  // What "." in the mounts means: the client's directory, absolute and without symbolic links.
  // May be empty if the manifest has no such mount.
  std::string client_cwd;
  // Host variable → value, of those that the client offers. A source that is missing here is left
  // out, as the manifest format says.
  std::map<std::string, std::string> host_env;
  // Sources that look like secrets (ceiling::LooksSecret) are refused unless the operator names
  // them here.
  std::set<std::string> granted_env;
  // Where the bundle's files are on this host: absolute, without symbolic links.
  std::string bundle_directory;
  // That is the workspace, in read_only mode. Otherwise the workspace is private.
  bool bundle_as_workspace = false;
};

// Mount targets mirror their sources: /workspace/mount/read/current,
// /workspace/mount/read/abs/PATH, and the same below write/. The programs of filesystem.exec are at
// /bundle/PATH, read-only and executable. That a source exists is for the supervisor to find out.
// PERMISSION_DENIED: danger_full_access, or a secret variable, without a grant. INVALID_ARGUMENT:
// "." without a client_cwd, filesystem.exec without a bundle_directory. The first of them, with the
// manifest's key, and its file and line where the spec was read from one. `origins`, if it is not
// nullptr, is where the request's fields come from.
Result<policy::SandboxRequest> ToRequest(const SandboxSpec& sandbox, const RequestContext& context,
                                         Origins* origins = nullptr);

// The same, for a caller that reports every problem.
std::optional<policy::SandboxRequest> ToRequest(const SandboxSpec& sandbox,
                                                const RequestContext& context, const Source& source,
                                                Origins* origins);

}  // namespace odyssey::dialect

#endif  // ODYSSEY_POLICY_DIALECT_SANDBOX_REQUEST_H_
