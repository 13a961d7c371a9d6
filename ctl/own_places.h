#ifndef ODYSSEY_CTL_OWN_PLACES_H_
#define ODYSSEY_CTL_OWN_PLACES_H_

// What of this host is another user's than the one for whom a cell would be.

#include <string>

#include "common/base/status.h"
#include "policy/ceiling/ceiling.h"
#include "policy/dialect/policy.h"
#include "policy/plan/plan.h"

namespace odyssey::ctl {

// PERMISSION_DENIED in root's words for what it would not show of a plan, because it is another's
// or closed to whose it has to be (plan::Entry::owner). Root alone can look as somebody else; what
// cannot be looked at, or is not there, is no error. Called by root it gives up the process's
// supplementary groups.
Status CheckOwnPlaces(const plan::Plan& plan);

// The warning that this was asked for somebody else by one who is not root; none otherwise. `whole`
// names the file.
dialect::Problems DoubtfulReach(const dialect::Policy& policy, const ceiling::Owner& owner,
                                const std::string& whole);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_OWN_PLACES_H_
