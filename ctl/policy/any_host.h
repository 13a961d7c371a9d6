#ifndef ODYSSEY_CTL_POLICY_ANY_HOST_H_
#define ODYSSEY_CTL_POLICY_ANY_HOST_H_

// What can be said of a policy that is meant for another host.

#include <string>

#include "common/base/status.h"
#include "policy/dialect/policy.h"
#include "policy/model/request.h"

namespace odyssey::ctl {

// Where a session's copy of a bundle is, on a host of which nothing is known.
inline constexpr char kAnyBundleStore[] = "/.bundles";
inline constexpr char kAnyBundleCopy[] = "/.bundles/copy";

// What no host and no user would get.
Status CheckAnywhere(policy::SandboxRequest request);

// Warnings, with their lines: programs that this host does not have. `whole` names the file, for
// what has no line.
dialect::Problems MissingPrograms(const dialect::Policy& policy, const std::string& whole);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_POLICY_ANY_HOST_H_
