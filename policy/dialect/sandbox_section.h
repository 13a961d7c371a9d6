#ifndef ODYSSEY_POLICY_DIALECT_SANDBOX_SECTION_H_
#define ODYSSEY_POLICY_DIALECT_SANDBOX_SECTION_H_

#include "policy/dialect/bundle.h"
#include "policy/dialect/project_root.h"
#include "policy/dialect/schema.h"

namespace odyssey::dialect {

// Reads the `sandbox` of a manifest; an absent one gives the defaults. Without a root (nullptr) it
// is that of a policy file, which has no files of its own to execute.
SandboxSpec ReadSandbox(MapReader sandbox, const ProjectRoot* root);

}  // namespace odyssey::dialect

#endif  // ODYSSEY_POLICY_DIALECT_SANDBOX_SECTION_H_
