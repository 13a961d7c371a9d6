#ifndef ODYSSEY_POLICY_CEILING_OWNERSHIP_H_
#define ODYSSEY_POLICY_CEILING_OWNERSHIP_H_

// Of what a plan shows, what is the asker's only as far as it is his own. Pure.

#include <cstdint>
#include <set>
#include <string>

#include "common/base/status.h"
#include "policy/ceiling/check.h"
#include "policy/plan/plan.h"

namespace odyssey::ceiling {

// The host paths that the uid is granted whatever their owner (not Ruling::own_only); or the first
// refusal of the request.
Result<std::set<std::string>> GrantedOutright(const Ceiling& ceiling,
                                              const policy::SandboxRequest& request,
                                              const Asker& asker);

// Says in the plan of such a request whose each host tree has to be, and which group what is
// written there has (plan::Entry::owner and group): his, as far as he could reach it himself, or
// world-readable. Not for root, nor of the system's trees.
void SetOwners(const Asker& asker, const std::set<std::string>& outright, plan::Plan* plan);

// Whether root would show a host tree of such a plan whose source stat(2) tells this of: in its
// words (supervisor/root/staging.cc) PERMISSION_DENIED for another's, unless it is read-only and
// it is world-readable.
Status CheckOwner(const plan::Entry& entry, uint32_t uid, uint32_t mode);

}  // namespace odyssey::ceiling

#endif  // ODYSSEY_POLICY_CEILING_OWNERSHIP_H_
