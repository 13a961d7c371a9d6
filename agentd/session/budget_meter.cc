#include "agentd/session/budget_meter.h"

namespace odyssey::session {
namespace {

using agent::v1::Usage;
using policy::Budget;

uint64_t TokensOf(const model::ModelEvent& event) {
  if (const auto* text = std::get_if<model::TextDelta>(&event)) {
    return memory::EstimateTokens(text->text);
  }
  if (const auto* text = std::get_if<model::ReasoningDelta>(&event)) {
    return memory::EstimateTokens(text->text);
  }
  if (const auto* call = std::get_if<model::ToolUse>(&event)) {
    return memory::kTokensOfEnvelope + memory::EstimateTokens(call->name) +
           memory::EstimateTokens(call->json);
  }
  return 0;
}

}  // namespace

void BudgetMeter::BeginCall(const model::ModelRequest& request) {
  estimated_input_ = memory::EstimateTokens(request);
  estimated_output_ = 0;
  reported_.Clear();
  arrived_ = false;
}

void BudgetMeter::OnEvent(const model::ModelEvent& event) {
  arrived_ = true;
  estimated_output_ += TokensOf(event);
  if (const auto* end = std::get_if<model::ModelEnd>(&event)) reported_ = end->usage;
}

Usage BudgetMeter::EndCall(bool succeeded) {
  Usage usage;
  if (!arrived_ && !succeeded) return usage;
  ++model_calls_;
  usage = reported_;
  if (usage.input_tokens() == 0 && usage.output_tokens() == 0) {
    usage.set_input_tokens(terms_.scale.Correct(estimated_input_));
    usage.set_output_tokens(terms_.scale.Correct(estimated_output_));
    usage.set_estimated(true);
  } else {
    terms_.scale = memory::TokenScale(usage.input_tokens(), estimated_input_);
  }
  if (terms_.price) {
    usage.set_cost_microdollars(provider::CostOf(
        *terms_.price, usage.input_tokens(), usage.cached_input_tokens(), usage.output_tokens()));
  }
  use_ = use_ + Budget{.tokens = usage.input_tokens()} + Budget{.tokens = usage.output_tokens()} +
         Budget{.cost_microdollars = usage.cost_microdollars()};
  return usage;
}

Budget BudgetMeter::UseOfTurn(Time now) const {
  Budget out = use_ + workers_;
  out.wall_clock_ms = static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::milliseconds>(now - terms_.begun).count());
  return out;
}

std::string BudgetMeter::Reached(Next next, Time now) const {
  const Budget used = Used(now);
  Budget bound = terms_.bound;
  if (next == Next::kModelCall) bound.tool_calls = 0;
  if (const auto kind = policy::ReachedKind(bound, used)) {
    return policy::DescribeReached(bound, used, *kind);
  }
  if (terms_.max_total_tokens == 0 || use_.tokens < terms_.max_total_tokens) return "";
  return "model.config.max_total_tokens: the turn used " + std::to_string(use_.tokens) +
         " tokens; allowed: " + std::to_string(terms_.max_total_tokens);
}

std::string BudgetMeter::Exceeded(Time now) const {
  const Budget used = Used(now);
  const auto kind = policy::ExceededKind(terms_.bound, used);
  return kind == nullptr ? "" : policy::DescribeReached(terms_.bound, used, *kind);
}

Budget BudgetMeter::Left(Time now) const {
  Budget left = policy::Left(terms_.bound, Used(now));
  const Budget own = {.tokens = terms_.max_total_tokens};
  return policy::Narrower(left, policy::Left(own, {.tokens = use_.tokens}));
}

}  // namespace odyssey::session
