#ifndef ODYSSEY_POLICY_MODEL_LIMIT_FIELDS_H_
#define ODYSSEY_POLICY_MODEL_LIMIT_FIELDS_H_

// The fields of Limits as a table, for code that treats them alike.

#include <array>
#include <cstdint>
#include <string_view>

#include "policy/model/request.h"

namespace odyssey::policy {

struct LimitField {
  std::string_view name;  // as policy.proto spells it
  uint64_t (*get)(const Limits&);
  void (*set)(Limits*, uint64_t);
};

template <auto Member>
constexpr LimitField MakeLimitField(std::string_view name) {
  return {name, [](const Limits& limits) -> uint64_t { return limits.*Member; },
          [](Limits* limits, uint64_t value) {
            limits->*Member =
                static_cast<std::remove_reference_t<decltype(limits->*Member)>>(value);
          }};
}

inline constexpr std::array kLimitFields = {
    MakeLimitField<&Limits::memory_bytes>("memory_bytes"),
    MakeLimitField<&Limits::cpu_millis>("cpu_millis"),
    MakeLimitField<&Limits::pids>("pids"),
    MakeLimitField<&Limits::wall_clock_ms>("wall_clock_ms"),
    MakeLimitField<&Limits::cpu_seconds>("cpu_seconds"),
    MakeLimitField<&Limits::open_files>("open_files"),
    MakeLimitField<&Limits::tmp_bytes>("tmp_bytes"),
    MakeLimitField<&Limits::disk_bytes>("disk_bytes"),
};

}  // namespace odyssey::policy

#endif  // ODYSSEY_POLICY_MODEL_LIMIT_FIELDS_H_
