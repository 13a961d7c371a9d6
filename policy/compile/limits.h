#ifndef ODYSSEY_POLICY_COMPILE_LIMITS_H_
#define ODYSSEY_POLICY_COMPILE_LIMITS_H_

// The limits in force: defaults in place of zeros, and nothing too small to run a shell or larger
// than the host allows.

#include "common/base/status.h"
#include "policy/model/request.h"
#include "policy/plan/plan_check.h"

namespace odyssey::compile {

// A shell, its pipeline and the C library's buffers fit; less fails in ways nobody understands.
inline constexpr uint64_t kMinMemoryBytes = uint64_t{16} << 20;
// cell-init, a slot's own pid 1, a shell, and a pipeline of four.
inline constexpr uint32_t kMinPids = 8;
// The kernel's smallest quota is 1 ms in a period of 100 ms.
inline constexpr uint32_t kMinCpuMillis = 10;
inline constexpr uint32_t kMaxCpuMillis = 1'024'000;
inline constexpr uint32_t kMinOpenFiles = 16;
inline constexpr uint32_t kMaxOpenFiles = 1'048'576;  // fs.nr_open
inline constexpr uint64_t kMinTmpBytes = uint64_t{64} << 10;
// A file system with a journal, and room for a program's caches.
inline constexpr uint64_t kMinDiskBytes = uint64_t{16} << 20;

// INVALID_ARGUMENT or, over a bound of the host's, PERMISSION_DENIED; names the field.
Result<policy::Limits> EffectiveLimits(const policy::Limits& asked,
                                       const plan::CheckContext& context);

// INVALID_ARGUMENT for an ephemeral cell, and for what is too little for a file system.
Status CheckDiskLimit(const policy::SandboxRequest& request);

}  // namespace odyssey::compile

#endif  // ODYSSEY_POLICY_COMPILE_LIMITS_H_
