#include "policy/compile/limits.h"

#include <string>

#include "common/base/refusal.h"
#include "policy/model/limit_fields.h"

namespace odyssey::compile {
namespace {

static_assert(kMaxPids == plan::kMaxPids);

Status OutOfBounds(std::string_view field, uint64_t value, uint64_t least, uint64_t most,
                   Code code) {
  const std::string allowed = std::to_string(least) + " to " + std::to_string(most);
  return Refused(code, "limits." + std::string(field), std::to_string(value),
                 allowed + " is allowed", allowed);
}

Status CheckBounds(const policy::LimitField& field, const policy::Limits& limits) {
  const uint64_t value = field.get(limits);
  if (value == 0 || (value >= field.least && value <= field.most)) return OkStatus();
  return OutOfBounds(field.name, value, field.least, field.most, Code::kInvalidArgument);
}

// `most` of the host; 0 = it has no bound.
Status CheckHost(std::string_view field, uint64_t value, uint64_t least, uint64_t most) {
  if (most == 0 || value <= most) return OkStatus();
  return OutOfBounds(field, value, least, most, Code::kPermissionDenied);
}

}  // namespace

Result<policy::Limits> EffectiveLimits(const policy::Limits& asked,
                                       const plan::CheckContext& context) {
  policy::Limits limits = asked;
  const policy::Limits& defaults = policy::kDefaultLimits;
  if (limits.memory_bytes == 0) limits.memory_bytes = defaults.memory_bytes;
  if (limits.cpu_millis == 0) limits.cpu_millis = defaults.cpu_millis;
  if (limits.pids == 0) limits.pids = defaults.pids;
  if (limits.wall_clock_ms == 0) limits.wall_clock_ms = defaults.wall_clock_ms;
  if (limits.cpu_seconds == 0) limits.cpu_seconds = defaults.cpu_seconds;
  if (limits.open_files == 0) limits.open_files = defaults.open_files;
  if (limits.tmp_bytes == 0) limits.tmp_bytes = defaults.tmp_bytes;

  for (const policy::LimitField& field : policy::kLimitFields) {
    ODY_RETURN_IF_ERROR(CheckBounds(field, limits));
  }
  ODY_RETURN_IF_ERROR(
      CheckHost("memory_bytes", limits.memory_bytes, kMinMemoryBytes, context.max_memory_bytes));
  ODY_RETURN_IF_ERROR(CheckHost("pids", limits.pids, kMinPids, context.max_pids));
  return limits;
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
