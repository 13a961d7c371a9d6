#ifndef ODYSSEY_POLICY_FOREIGN_WRITERS_H_
#define ODYSSEY_POLICY_FOREIGN_WRITERS_H_

// One writer for each system of foreign.h; a request that has a cell.

#include "policy/foreign/foreign.h"

namespace odyssey::foreign {

// A script that runs its arguments by bwrap.
Result<Written> WriteBwrap(const policy::SandboxRequest& request, const Variables& secrets);
// A profile for sandbox-exec of macOS.
Result<Written> WriteSeatbelt(const policy::SandboxRequest& request);
// A script that starts a container of the image in $IMAGE, in which `docker exec` runs commands.
Result<Written> WriteDockerRun(const policy::SandboxRequest& request, const Variables& secrets);
// A policy file, version 1.
Result<Written> WriteOpenShell(const policy::SandboxRequest& request);
// Lines for Codex's config.toml.
Result<Written> WriteCodex(const policy::SandboxRequest& request, const Variables& secrets);

}  // namespace odyssey::foreign

#endif  // ODYSSEY_POLICY_FOREIGN_WRITERS_H_
