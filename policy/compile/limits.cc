#include "policy/compile/limits.h"

#include <string>

#include "common/base/refusal.h"
#include "policy/model/default_limits.h"

namespace odyssey::compile {
namespace {

static_assert(policy::LimitNamed("pids").most == plan::kMaxPids);

Status OutOfBounds(const policy::LimitKey& key, uint64_t value, uint64_t most, Code code) {
  const std::string allowed = std::to_string(key.least) + " to " + std::to_string(most);
  return Refused(code, "limits." + std::string(key.name), std::to_string(value),
                 allowed + " is allowed", allowed);
}

Status CheckBounds(const policy::LimitKey& key, const policy::Limits& limits) {
  const uint64_t value = key.get(limits);
  if (value == 0 || (value >= key.least && value <= key.most)) return OkStatus();
  return OutOfBounds(key, value, key.most, Code::kInvalidArgument);
}

// `most` of the host; 0 = it has no bound.
Status CheckHost(const policy::LimitKey& key, const policy::Limits& limits, uint64_t most) {
  const uint64_t value = key.get(limits);
  if (most == 0 || value <= most) return OkStatus();
  return OutOfBounds(key, value, most, Code::kPermissionDenied);
}

}  // namespace

Result<policy::Limits> EffectiveLimits(const policy::Limits& asked,
                                       const plan::CheckContext& context) {
  const policy::Limits limits = policy::WithDefaults(asked);
  for (const policy::LimitKey& key : policy::kLimitKeys) {
    ODY_RETURN_IF_ERROR(CheckBounds(key, limits));
  }
  ODY_RETURN_IF_ERROR(
      CheckHost(policy::LimitNamed("memory_bytes"), limits, context.max_memory_bytes));
  ODY_RETURN_IF_ERROR(CheckHost(policy::LimitNamed("pids"), limits, context.max_pids));
  return limits;
}

std::string DescribeLimits(const policy::Limits& limits, policy::Scope scope) {
  std::string text;
  for (const policy::LimitKey& key : policy::kLimitKeys) {
    if (key.scope != scope) continue;
    text += (text.empty() ? "" : ", ") + std::string(key.name) + " " +
            policy::ValueText(key, key.get(limits));
  }
  return text;
}

void AddCommandLimits(const policy::Limits& limits, Writer* digest) {
  for (const policy::LimitKey& key : policy::kLimitKeys) {
    if (key.scope != policy::Scope::kCommand) continue;
    const uint64_t value = key.get(limits);
    if (key.member.type == policy::kWord) {
      digest->U32(static_cast<uint32_t>(value));
    } else {
      digest->U64(value);
    }
  }
}

Status CheckDiskLimit(const policy::SandboxRequest& request) {
  if (request.limits.disk_bytes == 0) return OkStatus();
  if (request.ephemeral) {
    return Refused(Code::kInvalidArgument, "limits.disk_bytes",
                   std::to_string(request.limits.disk_bytes),
                   "an ephemeral cell has no directories on disk: only one that is kept does, with "
                   "odyssey-ctl exec --cell NAME; limits.tmp_bytes bounds those in memory");
  }
  return OkStatus();
}

}  // namespace odyssey::compile
