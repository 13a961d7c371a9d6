#ifndef ODYSSEY_AGENTD_SESSION_BUDGET_METER_H_
#define ODYSSEY_AGENTD_SESSION_BUDGET_METER_H_

// Counts what a turn uses, and compares it with what its session may use. Reads no clock.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "agentd/memory/tokens.h"
#include "agentd/model/model_client.h"
#include "agentd/provider/price_list.h"
#include "odyssey/agent/v1/event.pb.h"
#include "policy/model/budget.h"

namespace odyssey::session {

class BudgetMeter final {
 public:
  using Time = std::chrono::steady_clock::time_point;

  struct Terms {
    policy::Budget bound;           // of the session
    policy::Budget used;            // by its earlier turns
    uint64_t max_total_tokens = 0;  // model.config's, of this turn's own calls; 0: none
    std::optional<provider::Price> price;
    memory::TokenScale scale;
    Time begun;
  };

  BudgetMeter() = default;
  explicit BudgetMeter(Terms terms) : terms_(std::move(terms)) {}

  // One call of the model: what was asked, what arrived, and its end. A provider that reports no
  // tokens gets an estimate, which errs high. A call of which nothing arrived counts only if it
  // succeeded. Returns what it used.
  void BeginCall(const model::ModelRequest& request);
  void OnEvent(const model::ModelEvent& event);
  agent::v1::Usage EndCall(bool succeeded);

  void CountToolCall() { ++use_.tool_calls; }
  void CountWorker(const policy::Budget& use) { workers_ = workers_ + use; }

  // Why it may not begin: a bound is reached. "": something is left of each kind that it needs. A
  // call of the model needs no tool calls: after the last one it may still answer.
  enum class Next { kModelCall, kToolCall };
  std::string Reached(Next next, Time now) const;
  // Why the turn fails: more than a bound was used. "": it was not.
  std::string Exceeded(Time now) const;
  // Of a bound that is not reached. At least 1 of each kind that has one.
  policy::Budget Left(Time now) const;

  // What the turn has used, its workers included.
  policy::Budget UseOfTurn(Time now) const;
  const memory::TokenScale& scale() const { return terms_.scale; }
  uint32_t model_calls() const { return model_calls_; }
  uint64_t tool_calls() const { return use_.tool_calls; }
  // Of the turn's own calls of the model; nullopt: the model has no price.
  std::optional<uint64_t> cost_microdollars() const {
    return terms_.price ? std::optional(use_.cost_microdollars) : std::nullopt;
  }

 private:
  policy::Budget Used(Time now) const { return terms_.used + UseOfTurn(now); }

  Terms terms_;
  policy::Budget use_;      // without workers and wall clock
  policy::Budget workers_;  // their wall clock is the turn's own
  uint32_t model_calls_ = 0;
  // Of the call that is under way.
  uint64_t estimated_input_ = 0, estimated_output_ = 0;
  agent::v1::Usage reported_;
  bool arrived_ = false;
};

}  // namespace odyssey::session

#endif  // ODYSSEY_AGENTD_SESSION_BUDGET_METER_H_
