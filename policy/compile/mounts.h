#ifndef ODYSSEY_POLICY_COMPILE_MOUNTS_H_
#define ODYSSEY_POLICY_COMPILE_MOUNTS_H_

// The mounts of a request, checked and in canonical order.

#include <map>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "policy/compile/compile.h"
#include "policy/model/request.h"
#include "policy/plan/plan_check.h"

namespace odyssey::compile {

// Where mirrored mounts go in a private workspace; an in-memory directory of the cell's root.
inline constexpr char kMirrorPath[] = "/workspace/mount";

// A link to /tmp, or a directory of its own where mounts lie below it.
inline constexpr char kVarTmp[] = "/var/tmp";

// Sorted by target, each target once: the same source twice is one mount with the wider access.
// One that lies inside another, or inside a workspace on the host, shows what that has there with
// another access; without one it is left out.
// INVALID_ARGUMENT or PERMISSION_DENIED naming mounts[i].
Result<std::vector<policy::Mount>> ResolveMounts(const policy::SandboxRequest& request,
                                                 const plan::CheckContext& context);

enum class Wanted { kDirectory, kDirectoryOrFile };

// NOT_FOUND or INVALID_ARGUMENT naming the field if the path is known to be something else.
Status CheckPlace(const std::string& field, const std::string& path, Wanted wanted,
                  const std::map<std::string, PlaceKind>& places);

// The same of every mount, naming mounts[i].source.
Status CheckSources(const policy::SandboxRequest& request,
                    const std::map<std::string, PlaceKind>& places);

// PERMISSION_DENIED if the path lies inside a `.git`: what the host's git obeys there is known by
// its name in the repository. For what is to be writable.
Status CheckOutsideGit(const std::string& field, const std::string& path,
                       policy::Protection protection);

plan::Access ToPlanAccess(policy::Access access);

}  // namespace odyssey::compile

#endif  // ODYSSEY_POLICY_COMPILE_MOUNTS_H_
