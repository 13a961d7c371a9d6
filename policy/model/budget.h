#ifndef ODYSSEY_POLICY_MODEL_BUDGET_H_
#define ODYSSEY_POLICY_MODEL_BUDGET_H_

// What work may use: of a session, and of one piece of work that an agent hands to another. Pure.

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace odyssey::policy {

// As a bound: 0 is none of this kind. As a use: what was used.
struct Budget {
  uint64_t tokens = 0;
  uint64_t cost_microdollars = 0;
  uint64_t tool_calls = 0;
  uint64_t wall_clock_ms = 0;
  friend bool operator==(const Budget&, const Budget&) = default;
};

struct BudgetKind {
  std::string_view name;      // in agentd's API and in the files of sessions
  std::string_view file_key;  // in the files of agents, with their unit
  std::string_view unit;      // what follows a number in messages; of cost it is a "$" before it
  uint64_t Budget::*count;
};
inline constexpr BudgetKind kTokens = {"tokens", "tokens", " tokens", &Budget::tokens};
inline constexpr BudgetKind kCost = {"cost_microdollars", "cost_usd", "",
                                     &Budget::cost_microdollars};
inline constexpr BudgetKind kToolCalls = {"tool_calls", "tool_calls", " tool calls",
                                          &Budget::tool_calls};
inline constexpr BudgetKind kWallClock = {"wall_clock_ms", "wall_clock_s", " ms of running turns",
                                          &Budget::wall_clock_ms};
inline constexpr std::array<BudgetKind, 4> kBudgetKinds = {kTokens, kCost, kToolCalls, kWallClock};

inline constexpr uint64_t kMaxBudget = 1'000'000'000'000;  // of any kind: more is a mistake

// Saturates.
inline Budget operator+(Budget a, const Budget& b) {
  for (const BudgetKind& kind : kBudgetKinds) {
    const uint64_t room = std::numeric_limits<uint64_t>::max() - a.*kind.count;
    a.*kind.count += std::min(room, b.*kind.count);
  }
  return a;
}

// Of two bounds the lower one of each kind.
inline Budget Narrower(Budget a, const Budget& b) {
  for (const BudgetKind& kind : kBudgetKinds) {
    if (a.*kind.count == 0 || (b.*kind.count != 0 && b.*kind.count < a.*kind.count))
      a.*kind.count = b.*kind.count;
  }
  return a;
}

// The kind of which nothing is left; null: something of each.
inline const BudgetKind* ReachedKind(const Budget& bound, const Budget& used) {
  for (const BudgetKind& kind : kBudgetKinds) {
    if (bound.*kind.count != 0 && used.*kind.count >= bound.*kind.count) return &kind;
  }
  return nullptr;
}

// The kind of which more was used than allowed; null: none.
inline const BudgetKind* ExceededKind(const Budget& bound, const Budget& used) {
  for (const BudgetKind& kind : kBudgetKinds) {
    if (bound.*kind.count != 0 && used.*kind.count > bound.*kind.count) return &kind;
  }
  return nullptr;
}

// What is left of a bound of which no kind is reached.
inline Budget Left(Budget bound, const Budget& used) {
  for (const BudgetKind& kind : kBudgetKinds) {
    if (bound.*kind.count != 0)
      bound.*kind.count -= std::min(used.*kind.count, bound.*kind.count - 1);
  }
  return bound;
}

// "$0.50": at least two digits after the point, at most six.
inline std::string FormatDollars(uint64_t microdollars) {
  std::string fraction = std::to_string(1'000'000 + microdollars % 1'000'000).substr(1);
  while (fraction.size() > 2 && fraction.back() == '0') fraction.pop_back();
  return "$" + std::to_string(microdollars / 1'000'000) + "." + fraction;
}

inline constexpr char kDollarsRule[] =
    "a number of dollars up to 1000000 with at most six digits after the point, such as 0.50";

// "0.50" → 500000; nullopt: not kDollarsRule.
inline std::optional<uint64_t> ParseDollars(std::string_view text) {
  constexpr uint64_t kMost = 1'000'000'000'000;
  const size_t point = std::min(text.find('.'), text.size());
  const std::string_view whole = text.substr(0, point);
  const std::string_view fraction = point < text.size() ? text.substr(point + 1) : "0";
  if (whole.empty() || whole.size() > 7 || fraction.empty() || fraction.size() > 6) {
    return std::nullopt;
  }
  uint64_t value = 0;
  for (const char c : std::string(whole) + std::string(fraction)) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + static_cast<uint64_t>(c - '0');
  }
  for (size_t digits = fraction.size(); digits < 6; ++digits) value *= 10;
  if (value > kMost) return std::nullopt;
  return value;
}

// "the budget of 500 tokens is used up: 612 tokens used".
inline std::string DescribeReached(const Budget& bound, const Budget& used,
                                   const BudgetKind& kind) {
  const auto text = [&](uint64_t value) {
    if (kind.count == kCost.count) return FormatDollars(value);
    return std::to_string(value) + std::string(kind.unit);
  };
  return "the budget of " + text(bound.*kind.count) + " is used up: " + text(used.*kind.count) +
         " used";
}

}  // namespace odyssey::policy

#endif  // ODYSSEY_POLICY_MODEL_BUDGET_H_
