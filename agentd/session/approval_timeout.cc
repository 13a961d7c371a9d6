#include "agentd/session/approval_timeout.h"

#include <algorithm>
#include <string>

#include "common/base/refusal.h"

namespace odyssey::session {

std::chrono::milliseconds ApprovalTimeout(uint64_t own_ms, std::chrono::seconds operators) {
  const std::chrono::milliseconds own(own_ms);
  if (own.count() == 0) return operators;
  return operators.count() == 0 ? own : std::min<std::chrono::milliseconds>(own, operators);
}

Status CheckApprovalTimeout(uint64_t own_ms, std::chrono::seconds operators) {
  const std::chrono::milliseconds most =
      operators.count() == 0 ? std::chrono::milliseconds(kMaxApprovalTimeoutMs) : operators;
  if (own_ms <= static_cast<uint64_t>(most.count())) return OkStatus();
  return Refused(Code::kInvalidArgument, "approval_timeout_ms", std::to_string(own_ms),
                 "at most " + std::to_string(most.count()) +
                     (operators.count() == 0 ? "" : ", the operator's --approval-timeout"));
}

}  // namespace odyssey::session
