#include "agentd/session/budget_meter.h"

#include <gtest/gtest.h>

namespace odyssey::session {
namespace {

using Next = BudgetMeter::Next;
using policy::Budget;
using std::chrono::milliseconds;

const BudgetMeter::Time kBegun = BudgetMeter::Time() + std::chrono::hours(1);

BudgetMeter Meter(const Budget& bound, const Budget& used = {}, uint64_t max_total_tokens = 0,
                  std::optional<provider::Price> price = std::nullopt) {
  return BudgetMeter({bound, used, max_total_tokens, price, {}, kBegun});
}

model::ModelRequest Request(const std::string& text) {
  model::ModelRequest out;
  out.messages = {{model::MessageKind::kUser, text, {}}};
  return out;
}

model::ModelEnd Reported(uint64_t input, uint64_t output) {
  model::ModelEnd end;
  end.usage.set_input_tokens(input);
  end.usage.set_output_tokens(output);
  return end;
}

agent::v1::Usage Call(BudgetMeter* meter, const model::ModelEvent& event) {
  meter->BeginCall(Request("hello"));
  meter->OnEvent(event);
  return meter->EndCall(true);
}

TEST(BudgetTest, OfTwoBoundsTheLowerOneHoldsAndZeroIsNone) {
  EXPECT_EQ(policy::Narrower({10, 0, 3, 0}, {5, 7, 0, 0}), (Budget{5, 7, 3, 0}));
  EXPECT_EQ(policy::Left({10, 0, 3, 0}, {4, 9, 1, 9}), (Budget{6, 0, 2, 0}));
  EXPECT_EQ(policy::ReachedKind({10, 0, 3, 0}, {9, 99, 2, 99}), nullptr);
  EXPECT_EQ(policy::ReachedKind({10, 0, 3, 0}, {10, 0, 0, 0})->name, "tokens");
  EXPECT_EQ(policy::ExceededKind({10, 0, 3, 0}, {10, 0, 3, 0}), nullptr);
  EXPECT_EQ(policy::ExceededKind({10, 0, 3, 0}, {0, 0, 4, 0})->name, "tool_calls");
  EXPECT_EQ((Budget{UINT64_MAX} + Budget{5}).tokens, UINT64_MAX);
}

TEST(BudgetTest, DollarsAreReadAndWrittenExactly) {
  for (const auto& [text, value] : std::vector<std::pair<std::string, uint64_t>>{
           {"$0.50", 500'000}, {"$12.00", 12'000'000}, {"$0.000001", 1}, {"$1.234", 1'234'000}}) {
    EXPECT_EQ(policy::FormatDollars(value), text);
    EXPECT_EQ(policy::ParseDollars(text.substr(1)), value);
  }
  EXPECT_EQ(policy::ParseDollars("3"), 3'000'000u);
  for (const char* wrong : {"", ".5", "1.", "-1", "1e3", "0.0000001", "1000001", "1 ", "$1"}) {
    EXPECT_EQ(policy::ParseDollars(wrong), std::nullopt) << wrong;
  }
}

TEST(BudgetMeterTest, WhatTheProviderReportsCounts) {
  BudgetMeter meter = Meter({.tokens = 100}, {.tokens = 30});
  EXPECT_EQ(meter.Reached(Next::kToolCall, kBegun), "");
  EXPECT_EQ(meter.Left(kBegun).tokens, 70u);
  const agent::v1::Usage usage = Call(&meter, Reported(50, 20));
  EXPECT_FALSE(usage.estimated());
  EXPECT_EQ(meter.UseOfTurn(kBegun).tokens, 70u);
  EXPECT_EQ(meter.Exceeded(kBegun), "") << "no more than allowed";
  EXPECT_EQ(meter.Reached(Next::kToolCall, kBegun),
            "the budget of 100 tokens is used up: 100 tokens used");
  Call(&meter, Reported(1, 0));
  EXPECT_EQ(meter.Exceeded(kBegun), "the budget of 100 tokens is used up: 101 tokens used");
}

TEST(BudgetMeterTest, WithoutAReportTheEstimateCounts) {
  BudgetMeter meter = Meter({.tokens = 100});
  meter.BeginCall(Request(std::string(600, ' ')));
  meter.OnEvent(model::TextDelta{"words"});
  meter.OnEvent(model::ModelEnd{});
  const agent::v1::Usage usage = meter.EndCall(true);
  EXPECT_TRUE(usage.estimated());
  EXPECT_GE(usage.input_tokens(), 200u);
  EXPECT_GE(usage.output_tokens(), 1u);
  EXPECT_NE(meter.Exceeded(kBegun), "");
}

TEST(BudgetMeterTest, AReportCorrectsLaterEstimates) {
  BudgetMeter meter = Meter({});
  meter.BeginCall(Request(std::string(3000, ' ')));
  meter.OnEvent(Reported(504, 1));  // half of the estimate
  meter.EndCall(true);
  EXPECT_EQ(meter.scale().permille(), 500u);
  meter.BeginCall(Request(std::string(3000, ' ')));
  meter.OnEvent(model::TextDelta{"x"});
  EXPECT_EQ(meter.EndCall(true).input_tokens(), 504u);
}

TEST(BudgetMeterTest, ACallThatNeverArrivedIsFreeOneThatBrokeOffIsNot) {
  BudgetMeter meter = Meter({});
  meter.BeginCall(Request("hello"));
  EXPECT_EQ(meter.EndCall(false).input_tokens(), 0u);
  meter.BeginCall(Request("hello"));
  meter.OnEvent(model::TextDelta{"half"});
  EXPECT_GT(meter.EndCall(false).input_tokens(), 0u);
}

TEST(BudgetMeterTest, MoneyToolCallsAndTimeAreBoundedToo) {
  const provider::Price price{1'000'000, 500'000, 2'000'000};
  BudgetMeter money = Meter({.cost_microdollars = 100}, {}, 0, price);
  EXPECT_EQ(Call(&money, Reported(60, 20)).cost_microdollars(), 100u);
  EXPECT_EQ(money.Reached(Next::kToolCall, kBegun),
            "the budget of $0.0001 is used up: $0.0001 used");
  EXPECT_EQ(money.cost_microdollars(), 100u);

  BudgetMeter tools = Meter({.tool_calls = 2});
  tools.CountToolCall();
  EXPECT_EQ(tools.Reached(Next::kToolCall, kBegun), "");
  tools.CountWorker({.tokens = 7, .tool_calls = 1, .wall_clock_ms = 900'000});
  EXPECT_NE(tools.Reached(Next::kToolCall, kBegun).find("2 tool calls"), std::string::npos);
  EXPECT_EQ(tools.Reached(Next::kModelCall, kBegun), "") << "it may still answer";
  EXPECT_EQ(tools.UseOfTurn(kBegun + milliseconds(5)), (Budget{7, 0, 2, 5}))
      << "a worker's time is the turn's own";

  const BudgetMeter time = Meter({.wall_clock_ms = 100}, {.wall_clock_ms = 40});
  EXPECT_EQ(time.Reached(Next::kToolCall, kBegun + milliseconds(59)), "");
  EXPECT_EQ(time.Left(kBegun + milliseconds(20)).wall_clock_ms, 40u);
  EXPECT_NE(
      time.Reached(Next::kToolCall, kBegun + milliseconds(60)).find("100 ms of running turns"),
      std::string::npos);
}

TEST(BudgetMeterTest, TheBundlesBoundOfATurnHoldsWithinTheSessions) {
  BudgetMeter meter = Meter({.tokens = 1000}, {.tokens = 900}, 10);
  EXPECT_EQ(meter.Left(kBegun).tokens, 10u);
  Call(&meter, Reported(5, 4));
  EXPECT_EQ(meter.Reached(Next::kToolCall, kBegun), "") << "earlier turns do not count";
  Call(&meter, Reported(1, 0));
  EXPECT_EQ(meter.Reached(Next::kToolCall, kBegun),
            "model.config.max_total_tokens: the turn used 10 tokens; allowed: 10");
  EXPECT_EQ(meter.Exceeded(kBegun), "");
}

}  // namespace
}  // namespace odyssey::session
