#ifndef ODYSSEY_POLICY_COMPILE_LIMITS_H_
#define ODYSSEY_POLICY_COMPILE_LIMITS_H_

// The limits in force: defaults in place of zeros, and nothing out of the bounds of
// policy/model/policy_keys.h or larger than the host allows.

#include <string>

#include "common/base/codec.h"
#include "common/base/status.h"
#include "policy/model/limit_bounds.h"
#include "policy/model/policy_key.h"
#include "policy/model/request.h"
#include "policy/plan/plan_check.h"

namespace odyssey::compile {

using policy::kMaxCpuMillis;
using policy::kMaxOpenFiles;
using policy::kMaxPids;
using policy::kMinCpuMillis;
using policy::kMinDiskBytes;
using policy::kMinMemoryBytes;
using policy::kMinOpenFiles;
using policy::kMinPids;
using policy::kMinTmpBytes;

// INVALID_ARGUMENT or, over a bound of the host's, PERMISSION_DENIED; names the field.
Result<policy::Limits> EffectiveLimits(const policy::Limits& asked,
                                       const plan::CheckContext& context);

// "pids 512, tmp_bytes unlimited": those of one scope.
std::string DescribeLimits(const policy::Limits& limits, policy::Scope scope);

// What each command gets, which no plan holds.
void AddCommandLimits(const policy::Limits& limits, Writer* digest);

// INVALID_ARGUMENT for an ephemeral cell.
Status CheckDiskLimit(const policy::SandboxRequest& request);

}  // namespace odyssey::compile

#endif  // ODYSSEY_POLICY_COMPILE_LIMITS_H_
