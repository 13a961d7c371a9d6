#ifndef ODYSSEY_POLICY_COMPILE_LIMITS_H_
#define ODYSSEY_POLICY_COMPILE_LIMITS_H_

// The limits in force: defaults in place of zeros, and nothing out of the bounds of
// policy/model/limit_fields.h or larger than the host allows.

#include "common/base/status.h"
#include "policy/model/limit_bounds.h"
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

// INVALID_ARGUMENT for an ephemeral cell.
Status CheckDiskLimit(const policy::SandboxRequest& request);

}  // namespace odyssey::compile

#endif  // ODYSSEY_POLICY_COMPILE_LIMITS_H_
