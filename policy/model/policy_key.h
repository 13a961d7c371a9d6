#ifndef ODYSSEY_POLICY_MODEL_POLICY_KEY_H_
#define ODYSSEY_POLICY_MODEL_POLICY_KEY_H_

// The columns of the table of policy keys (policy_keys.h). A text column is never empty: kNone says
// that a dialect or a program has no such key.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include "policy/model/request.h"

namespace odyssey::policy {

inline constexpr std::string_view kNone = "none";

// How a value is written: a whole number of a unit; or as units.h and Docker spell sizes ("512m"),
// cores ("1.5") and durations ("60s").
enum class Format { kWhole, kSize, kCores, kDuration };

// A key of a file format whose values are whole numbers of `unit` field units.
struct Spelling {
  std::string_view name = "";
  uint64_t unit = 1;
  uint64_t least = 1, most = 0;  // as written
  uint64_t unsaid = 0;  // as written: what the format sets if the key is absent; 0 = nothing
};

// A key of odek's; its variable is "ODEK_" and the name in upper case.
struct OdekSpelling {
  std::string_view name = "";
  Format format = Format::kSize;
  std::string_view rule = kNone;  // what a value must be
};

// The keys of formats that are not Odyssey's.
struct ForeignSpelling {
  std::string_view llm_do = "";
  OdekSpelling odek;
  std::string_view openshell = "";
};

// What carries the value of an option of `odyssey-ctl exec`.
enum class Carrier { kLimits, kExecStart };

struct OptionSpelling {
  std::string_view name = "";
  Format format = Format::kWhole;
  std::string_view value_name = kNone;
  std::string_view help = kNone;
  Carrier carrier = Carrier::kLimits;
};

enum class Scope {
  kUnsaid,
  kGroup,    // the cell's control group
  kTmpfs,    // each of the cell's directories in memory
  kDisk,     // the cell's directories on disk
  kCommand,  // each command, or each of its processes
};

// Which of two values gives less. 0 is the default; in force, it is the widest.
enum class Order { kUnsaid, kLessIsNarrower, kMoreIsNarrower };

// What an operator's bound means.
enum class CeilingRule { kUnsaid, kAtMost };

// What refuses or slows down a cell: the mechanism in one word, then what of it is set.
struct Enforcer {
  std::string_view mechanism = "";
  std::string_view how = "";
};

inline constexpr std::string_view kWord = "uint32";
inline constexpr std::string_view kLong = "uint64";

// A member of Limits.
struct LimitMember {
  std::string_view type;  // kWord or kLong
  std::string_view unit;
  uint64_t (*get)(const Limits&);
  void (*set)(Limits*, uint64_t);
};

template <auto Member>
constexpr LimitMember MemberOf(std::string_view unit) {
  using Value = std::remove_cvref_t<decltype(Limits{}.*Member)>;
  return {std::is_same_v<Value, uint32_t> ? kWord : kLong, unit,
          [](const Limits& limits) -> uint64_t { return limits.*Member; },
          [](Limits* limits, uint64_t value) { limits->*Member = static_cast<Value>(value); }};
}

// One limit: a row of the table.
struct LimitKey {
  std::string_view name;  // the field of policy.proto's Limits
  LimitMember member;
  uint64_t fallback = 0;       // what 0 in a request means; 0 = as `zero` says
  std::string_view zero = "";  // what 0 in force means; kNone: it is never in force
  uint64_t least = 0, most = 0;
  Scope scope = Scope::kUnsaid;
  Order order = Order::kUnsaid;
  Enforcer enforcer;
  Spelling manifest;  // below sandbox.resources, and resources of a policy file
  ForeignSpelling foreign;
  Spelling ceiling;  // below `limits`
  CeilingRule ceiling_rule = CeilingRule::kUnsaid;
  OptionSpelling option;
  std::string_view help = "";  // one line of documentation

  constexpr uint64_t get(const Limits& limits) const { return member.get(limits); }
  constexpr void set(Limits* limits, uint64_t value) const { member.set(limits, value); }
};

// The one that gives less of two values in force or two bounds; of the widest and another, the
// other.
constexpr uint64_t Narrower(const LimitKey& key, uint64_t a, uint64_t b) {
  if (a == 0 || b == 0 || key.order == Order::kMoreIsNarrower) return std::max(a, b);
  return std::min(a, b);
}

// A value in force, as people read it.
inline std::string ValueText(const LimitKey& key, uint64_t value) {
  return value == 0 ? std::string(key.zero) : std::to_string(value);
}

}  // namespace odyssey::policy

#endif  // ODYSSEY_POLICY_MODEL_POLICY_KEY_H_
