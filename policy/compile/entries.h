#ifndef ODYSSEY_POLICY_COMPILE_ENTRIES_H_
#define ODYSSEY_POLICY_COMPILE_ENTRIES_H_

// What a cell's root directory holds, in the order in which root makes it.

#include <string>
#include <vector>

#include "policy/compile/compile.h"

namespace odyssey::compile {

// The uid and gid of the cell's commands, as they see it.
uint32_t UserOf(const policy::SandboxRequest& request);

// Appends the files of /etc that every cell has of its own, and what covers files of /proc.
void AddOwnConfiguration(const policy::SandboxRequest& request, const HostFacts& facts,
                         Compiled* out);

// Appends the entries of the host's programs and of a small, generated /etc; explains what it
// leaves out.
void AddSystem(const policy::SandboxRequest& request, const HostFacts& facts, Compiled* out);

// Appends /tmp, /run, the workspace, the cell's own directories and the mounts.
void AddTrees(const policy::SandboxRequest& request, const std::vector<policy::Mount>& mounts,
              Compiled* out);

}  // namespace odyssey::compile

#endif  // ODYSSEY_POLICY_COMPILE_ENTRIES_H_
