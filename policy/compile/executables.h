#ifndef ODYSSEY_POLICY_COMPILE_EXECUTABLES_H_
#define ODYSSEY_POLICY_COMPILE_EXECUTABLES_H_

// What may be executed beside whole trees: programs that are named, and mounts of programs. Two
// layers each: a mount that is not noexec, and a Landlock right. In every mode what is named has to
// be there; only explicit mode's trees lack those of the system.

#include <vector>

#include "common/base/status.h"
#include "policy/compile/compile.h"

namespace odyssey::compile {

inline constexpr size_t kMaxExecutables = 256;

// INVALID_ARGUMENT naming executables[i] or mounts[i].executable.
Status CheckExecutables(const policy::SandboxRequest& request, const FoundExecutables& found);

// `mounts` and one more for each named path that is neither of the system's trees nor shown by them
// or the workspace. INVALID_ARGUMENT, PERMISSION_DENIED or NOT_FOUND naming executables[i], or what
// would make one of the programs writable.
Result<std::vector<policy::Mount>> AddExecutableMounts(const policy::SandboxRequest& request,
                                                       const FoundExecutables& found,
                                                       std::vector<policy::Mount> mounts,
                                                       const HostFacts& facts);

// Appends the named programs, and all they load, as parts of the trees that `out` has.
Status AddExecutables(const policy::SandboxRequest& request, const FoundExecutables& found,
                      Compiled* out);

// With explicit executables: that memory which was written is not executed, unless one of the
// programs needs that, or may.
void DenyWriteExec(const std::vector<policy::Mount>& mounts, const FoundExecutables& found,
                   Compiled* out);

}  // namespace odyssey::compile

#endif  // ODYSSEY_POLICY_COMPILE_EXECUTABLES_H_
