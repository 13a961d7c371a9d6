#include "policy/compile/limits.h"

#include <string>

namespace odyssey::compile {
namespace {

static_assert(kMaxPids == plan::kMaxPids);

// 0 = no upper bound.
Status CheckRange(const char* field, uint64_t value, uint64_t min, uint64_t max, Code over) {
  if (value >= min && (max == 0 || value <= max)) return OkStatus();
  const std::string allowed =
      max == 0 ? "at least " + std::to_string(min) + " is allowed"
               : std::to_string(min) + " to " + std::to_string(max) + " is allowed";
  return {value < min ? Code::kInvalidArgument : over,
          std::string("limits.") + field + ": " + std::to_string(value) + ": " + allowed};
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

  const Code invalid = Code::kInvalidArgument;
  const Code denied = Code::kPermissionDenied;
  ODY_RETURN_IF_ERROR(CheckRange("memory_bytes", limits.memory_bytes, kMinMemoryBytes,
                                 context.max_memory_bytes, denied));
  ODY_RETURN_IF_ERROR(
      CheckRange("cpu_millis", limits.cpu_millis, kMinCpuMillis, kMaxCpuMillis, invalid));
  ODY_RETURN_IF_ERROR(CheckRange("pids", limits.pids, kMinPids, kMaxPids, invalid));
  ODY_RETURN_IF_ERROR(CheckRange("pids", limits.pids, kMinPids, context.max_pids, denied));
  ODY_RETURN_IF_ERROR(
      CheckRange("open_files", limits.open_files, kMinOpenFiles, kMaxOpenFiles, invalid));
  ODY_RETURN_IF_ERROR(CheckRange("tmp_bytes", limits.tmp_bytes, kMinTmpBytes, 0, invalid));
  return limits;
}

Status CheckDiskLimit(const policy::SandboxRequest& request) {
  if (request.limits.disk_bytes == 0) return OkStatus();
  if (request.ephemeral) {
    return InvalidArgument("limits.disk_bytes: " + std::to_string(request.limits.disk_bytes) +
                           ": an ephemeral cell has no directories on disk: only one that is kept "
                           "does, with odyssey-ctl exec --cell NAME; limits.tmp_bytes bounds those "
                           "in memory");
  }
  return CheckRange("disk_bytes", request.limits.disk_bytes, kMinDiskBytes, 0,
                    Code::kInvalidArgument);
}

}  // namespace odyssey::compile
