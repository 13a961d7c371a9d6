#ifndef ODYSSEY_AGENTD_SESSION_QUOTA_H_
#define ODYSSEY_AGENTD_SESSION_QUOTA_H_

// The operator's bounds for one user (`quotas` of the ceiling), and what counts against them.

#include <cstdint>

#include "agentd/session/runtime.h"
#include "common/base/status.h"
#include "policy/ceiling/ceiling.h"

namespace odyssey::session {

// Reads the operator's ceiling. An error of it is returned: then nothing is accepted of the user.
Result<ceiling::Quota> QuotaOf(uint32_t owner, const Runtime& runtime);

// Whether there is room for more, beside the `used`. RESOURCE_EXHAUSTED names the bound, the use
// and where the bound is written. Pure.
Status CheckQuota(const ceiling::Quota& quota, ceiling::Counted kind, uint64_t used,
                  uint32_t owner);

uint64_t CountSessions(uint32_t owner, const Runtime& runtime);
// Of records, journals and bundles. A bundle that is installed for every user counts for no owner;
// cells' directories are the supervisor's, and are bounded by limits.disk_bytes.
uint64_t CountDiskBytes(uint32_t owner, const Runtime& runtime);
// CheckQuota of kDiskBytes. Files are looked at only if there is a bound.
Status CheckDiskQuota(const ceiling::Quota& quota, uint32_t owner, const Runtime& runtime);

}  // namespace odyssey::session

#endif  // ODYSSEY_AGENTD_SESSION_QUOTA_H_
