#include "ctl/session/session_budget.h"

#include <optional>

#include "ctl/base/units.h"
#include "policy/model/budget.h"

namespace odyssey::ctl {
namespace {

policy::Budget FromProto(const agent::v1::Budget& budget) {
  return {budget.tokens(), budget.cost_microdollars(), budget.tool_calls(), budget.wall_clock_ms()};
}

std::string Amount(const policy::BudgetKind& kind, uint64_t value) {
  if (kind.count == policy::kCost.count) return policy::FormatDollars(value);
  if (kind.count == policy::kWallClock.count) return FormatDurationMs(value);
  return std::to_string(value);
}

}  // namespace

OptionSpec MaxTokensOption() {
  return {.name = "max-tokens",
          .kind = ValueKind::kNumber,
          .value_name = "N",
          .help = "of all model calls of the session's turns, its workers' too (default: no bound)",
          .min = 1,
          .max = policy::kMaxBudget};
}

OptionSpec MaxCostOption() {
  return {.name = "max-cost",
          .kind = ValueKind::kText,
          .value_name = "DOLLARS",
          .help = "likewise, such as 0.50; the operator must have set a price for the model"};
}

OptionSpec MaxToolCallsOption() {
  return {.name = "max-tool-calls",
          .kind = ValueKind::kNumber,
          .value_name = "N",
          .help = "likewise",
          .min = 1,
          .max = policy::kMaxBudget};
}

OptionSpec MaxTimeOption() {
  return {.name = "max-time",
          .kind = ValueKind::kDuration,
          .value_name = "DURATION",
          .help = "likewise, of running turns; waiting for an answer counts"};
}

std::vector<OptionSpec> BudgetOptions() {
  return {MaxTokensOption(), MaxCostOption(), MaxToolCallsOption(), MaxTimeOption()};
}

Result<agent::v1::Budget> ReadBudget(const ParsedOptions& options) {
  agent::v1::Budget out;
  out.set_tokens(options.Number("max-tokens"));
  out.set_tool_calls(options.Number("max-tool-calls"));
  out.set_wall_clock_ms(options.DurationMs("max-time"));
  const std::string cost = options.Text("max-cost");
  if (cost.empty()) return out;
  const std::optional<uint64_t> dollars = policy::ParseDollars(cost);
  if (!dollars || *dollars == 0) {
    return InvalidArgument("--max-cost \"" + cost + "\": must be " + policy::kDollarsRule +
                           ", above 0");
  }
  out.set_cost_microdollars(*dollars);
  return out;
}

std::string BudgetText(const agent::v1::Budget& used, const agent::v1::Budget& bound) {
  const policy::Budget have = FromProto(used), most = FromProto(bound);
  std::string out;
  for (const policy::BudgetKind& kind : policy::kBudgetKinds) {
    const uint64_t value = have.*kind.count, limit = most.*kind.count;
    if (value == 0 && limit == 0) continue;
    out += (out.empty() ? "" : ", ") + Amount(kind, value);
    if (limit != 0) out += " of " + Amount(kind, limit);
    if (kind.count != policy::kWallClock.count) out += kind.unit;
  }
  return out.empty() ? "none" : out;
}

}  // namespace odyssey::ctl
