#include "agentd/session/turn_trace.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "agentd/session/turn_use.h"
#include "tests/fakes/bundle_source.h"
#include "tests/fakes/session_world.h"

namespace odyssey::session {
namespace {

using fakes::BundleSource;
using fakes::SessionWorld;
using Names = std::vector<std::string>;

std::vector<agent::v1::TurnStep> StepsOf(SessionWorld& world, const std::string& session,
                                         const std::string& turn) {
  std::vector<agent::v1::TurnStep> out;
  for (const event::Event& event : world.Events(session)) {
    if (event.has_turn_step() && event.turn_step().turn_id() == turn) {
      out.push_back(event.turn_step());
    }
  }
  return out;
}

Names NamesOf(const std::vector<agent::v1::TurnStep>& steps) {
  Names out;
  for (const auto& step : steps) out.push_back(step.step());
  return out;
}

TEST(TurnTraceTest, StepsAreToldInTheirOrderWhateverOrderTheyRanIn) {
  TurnTrace trace;
  trace.Enter(TurnStep::kBuildRules);
  trace.Note("rules");
  trace.Enter(TurnStep::kResolveBundle);
  trace.Enter(TurnStep::kBuildRules);
  trace.Leave();
  trace.Note("ignored");
  const auto steps = trace.Take("trn_1");
  EXPECT_EQ(NamesOf(steps), (Names{"resolve_bundle", "build_rules"}));
  EXPECT_EQ(steps[1].detail(), "rules");
  EXPECT_EQ(steps[1].turn_id(), "trn_1");
  EXPECT_TRUE(trace.Take("trn_1").empty());
}

TEST(TurnTraceTest, ATurnTellsEveryStepOnceAndEachCallOfTheModel) {
  SessionWorld world(fakes::CallOnce("Bash", R"({"command":"ls"})"));
  const BundleSource bundle;
  const std::string session = world.Create(bundle.path());
  for (int i = 0; i < 2; ++i) {  // the second one's setup is the first one's
    const std::string turn = world.Submit(session);
    world.AwaitEnd(session, turn);
    const auto steps = StepsOf(world, session, turn);
    EXPECT_EQ(NamesOf(steps),
              (Names{"load_session", "resolve_bundle", "choose_mode", "prepare_cell", "build_rules",
                     "build_prompt", "select_tools", "resolve_model", "build_memory", "model_call",
                     "model_call", "run_executor", "collect_history", "persist_turn"}));
    EXPECT_NE(steps[6].detail().find(i == 0 ? "Read, Write" : "as in the turn before"),
              std::string::npos)
        << steps[6].detail();
    EXPECT_EQ(steps[11].detail(), "2 model calls, 1 tool calls");
    EXPECT_TRUE(steps[9].usage().estimated());
  }
  const std::vector<event::Event> events = world.Events(session);
  EXPECT_TRUE(events.front().has_turn_started());
  EXPECT_TRUE(events.back().has_turn_completed());
}

TEST(TurnTraceTest, TheStepThatFailedSaysWhy) {
  SessionWorld world(fakes::CallOnce("Bash", "{}"));
  const BundleSource bundle;
  const std::string session = world.Create(bundle.path());
  world.sandbox().FailPrepare(FailedPrecondition("no cell today"));
  const std::string turn = world.Submit(session);
  EXPECT_EQ(world.AwaitEnd(session, turn).status, TurnStatus::kFailed);
  const auto steps = StepsOf(world, session, turn);
  const auto failed = std::find_if(steps.begin(), steps.end(),
                                   [](const auto& step) { return step.step() == "prepare_cell"; });
  ASSERT_NE(failed, steps.end());
  EXPECT_NE(failed->detail().find("no cell today"), std::string::npos);
}

TEST(TurnUseTest, WhatAnInterruptedTurnUsedIsInItsEvents) {
  TurnUse use("trn_1");
  event::Event call;
  call.mutable_turn_step()->set_turn_id("trn_1");
  call.mutable_turn_step()->set_duration_usec(5000);
  call.mutable_turn_step()->mutable_usage()->set_input_tokens(30);
  call.mutable_turn_step()->mutable_usage()->set_output_tokens(4);
  call.mutable_turn_step()->mutable_usage()->set_cost_microdollars(9);
  use.Add(call);
  use.Add(call);
  call.mutable_turn_step()->set_turn_id("trn_2");
  use.Add(call);
  event::Event tool;
  tool.mutable_tool_call_started()->set_turn_id("trn_1");
  use.Add(tool);
  event::Event summary;
  summary.mutable_history_summarized()->set_turn_id("trn_1");
  summary.mutable_history_summarized()->set_messages(6);
  summary.mutable_history_summarized()->set_summary("s");
  use.Add(summary);
  EXPECT_EQ(use.used(), (policy::Budget{68, 18, 1, 10}));
  EXPECT_EQ(use.summary(), (memory::Summary{6, "s"}));
}

}  // namespace
}  // namespace odyssey::session
