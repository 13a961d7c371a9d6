#ifndef ODYSSEY_POLICY_MODEL_LIMIT_FIELDS_H_
#define ODYSSEY_POLICY_MODEL_LIMIT_FIELDS_H_

// The fields of Limits as a table, for code that treats them alike.

#include <array>
#include <cstdint>
#include <string_view>

#include "policy/model/limit_bounds.h"
#include "policy/model/request.h"

namespace odyssey::policy {

struct LimitField {
  std::string_view name;  // as policy.proto spells it
  uint64_t (*get)(const Limits&);
  void (*set)(Limits*, uint64_t);
  uint64_t least, most;  // of any policy; 0 is not a value but the default, or unlimited
};

template <auto Member>
constexpr LimitField MakeLimitField(std::string_view name, uint64_t least, uint64_t most) {
  return {name, [](const Limits& limits) -> uint64_t { return limits.*Member; },
          [](Limits* limits, uint64_t value) {
            limits->*Member =
                static_cast<std::remove_reference_t<decltype(limits->*Member)>>(value);
          },
          least, most};
}

inline constexpr std::array kLimitFields = {
    MakeLimitField<&Limits::memory_bytes>("memory_bytes", kMinMemoryBytes, kMaxMemoryBytes),
    MakeLimitField<&Limits::cpu_millis>("cpu_millis", kMinCpuMillis, kMaxCpuMillis),
    MakeLimitField<&Limits::pids>("pids", kMinPids, kMaxPids),
    MakeLimitField<&Limits::wall_clock_ms>("wall_clock_ms", 1, UINT32_MAX),
    MakeLimitField<&Limits::cpu_seconds>("cpu_seconds", 1, UINT32_MAX),
    MakeLimitField<&Limits::open_files>("open_files", kMinOpenFiles, kMaxOpenFiles),
    MakeLimitField<&Limits::tmp_bytes>("tmp_bytes", kMinTmpBytes, kMaxTmpBytes),
    MakeLimitField<&Limits::disk_bytes>("disk_bytes", kMinDiskBytes, kMaxDiskBytes),
};

}  // namespace odyssey::policy

#endif  // ODYSSEY_POLICY_MODEL_LIMIT_FIELDS_H_
