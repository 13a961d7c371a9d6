#ifndef ODYSSEY_POLICY_HOST_HOST_FACTS_H_
#define ODYSSEY_POLICY_HOST_HOST_FACTS_H_

#include <optional>
#include <string>

#include "policy/compile/compile.h"
#include "policy/plan/plan_check.h"

namespace odyssey::host {

// The facts of this host, without `places`. `check`: Odyssey's own directories and its store of
// bundles, which the caller knows.
compile::HostFacts ReadHostFacts(plan::CheckContext check);

// What the symbolic link there says; nullopt: it is none, or this process may not look at it.
std::optional<std::string> ReadLinkOfHost(const std::string& path);

}  // namespace odyssey::host

#endif  // ODYSSEY_POLICY_HOST_HOST_FACTS_H_
