#ifndef ODYSSEY_POLICY_COMPILE_PROTECTION_H_
#define ODYSSEY_POLICY_COMPILE_PROTECTION_H_

// What a writable directory of the host keeps from the cell: the names that the host's own tools
// would execute or obey later. Each becomes a read-only part of the tree where it exists when the
// cell starts; nothing is ever made on the host.
// docs/policy/mounts.md says what this stops and what it does not.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "policy/compile/compile.h"

namespace odyssey::compile {

inline constexpr size_t kMaxProtect = 64;

struct ProtectedName {
  std::string_view path;  // relative to a project, or to a home directory
  std::string_view why;
};

// In any directory that may be a project's.
std::span<const ProtectedName> ProjectNames();
// In home directories, besides those of a project.
std::span<const ProtectedName> HomeNames();

// Of the users that may log in, from the text of /etc/passwd.
std::vector<std::string> HomeDirectories(std::string_view passwd);

// Appends the parts of every writable host tree in the plan, each tree's parents first.
// INVALID_ARGUMENT naming protect[i]; PERMISSION_DENIED for a tree that is itself what is kept.
Status AddProtection(const policy::SandboxRequest& request, const HostFacts& facts, Compiled* out);

}  // namespace odyssey::compile

#endif  // ODYSSEY_POLICY_COMPILE_PROTECTION_H_
