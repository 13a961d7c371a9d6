#ifndef ODYSSEY_COMMON_OS_UID_RANGE_H_
#define ODYSSEY_COMMON_OS_UID_RANGE_H_

#include <sys/types.h>

#include <cstdint>

#include "common/base/status.h"
#include "common/os/unique_fd.h"

namespace odyssey {

inline constexpr uint32_t kMaxUidRanges = 64;  // supervisors at a time on one host

// Two supervisors on one host must not use the same uids: same uid, same rights. Takes the first
// free of the ranges [base + k * size, + size) and says where it begins. A range is held by an
// abstract socket named after it, until the descriptor is closed. RESOURCE_EXHAUSTED: all 64 are
// held.
Result<UniqueFd> HoldUidRange(uid_t base, uint32_t size, uid_t* first);

}  // namespace odyssey

#endif  // ODYSSEY_COMMON_OS_UID_RANGE_H_
