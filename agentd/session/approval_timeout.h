#ifndef ODYSSEY_AGENTD_SESSION_APPROVAL_TIMEOUT_H_
#define ODYSSEY_AGENTD_SESSION_APPROVAL_TIMEOUT_H_

// How long a session's requests for approval wait for an answer. Pure.

#include <chrono>
#include <cstdint>

#include "common/base/status.h"

namespace odyssey::session {

inline constexpr uint64_t kMaxApprovalTimeoutMs = uint64_t{7} * 24 * 3600 * 1000;

// The session's own time, never longer than the operator's. 0: none, both as argument and result.
std::chrono::milliseconds ApprovalTimeout(uint64_t own_ms, std::chrono::seconds operators);

// INVALID_ARGUMENT: the session may not ask for this time.
Status CheckApprovalTimeout(uint64_t own_ms, std::chrono::seconds operators);

}  // namespace odyssey::session

#endif  // ODYSSEY_AGENTD_SESSION_APPROVAL_TIMEOUT_H_
