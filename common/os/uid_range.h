#ifndef ODYSSEY_COMMON_OS_UID_RANGE_H_
#define ODYSSEY_COMMON_OS_UID_RANGE_H_

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "common/base/status.h"
#include "common/os/unique_fd.h"

namespace odyssey {

inline constexpr uint32_t kMaxUidRanges = 64;  // supervisors at a time on one host

// In /run and not a socket's name: a supervisor in a network namespace of its own sees it too.
inline constexpr char kUidLocks[] = "/run/odyssey-uids";

// Two supervisors on one host must not use the same uids: same uid, same rights. Takes the first
// free of the ranges [base + k * size, + size) and returns where it begins. A range is held by a
// write lock of the open file description (F_OFD_SETLK) on the bytes of `locks` with these numbers,
// until the descriptor is closed. Creates `locks` if it is missing, for its owner alone.
// RESOURCE_EXHAUSTED: all 64 are held.
Result<UniqueFd> HoldUidRange(const std::string& locks, uid_t base, uint32_t size, uid_t* first);

}  // namespace odyssey

#endif  // ODYSSEY_COMMON_OS_UID_RANGE_H_
