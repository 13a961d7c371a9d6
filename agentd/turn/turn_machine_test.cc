#include "agentd/turn/turn_machine.h"

#include <gtest/gtest.h>

#include "tests/fakes/events.h"

namespace odyssey::turn {
namespace {

using fakes::EventOf;
using model::Message;
using model::MessageKind;
using model::ToolUse;

constexpr char kTurn[] = "trn_1";

const approval::Verdict kAllow;
const approval::Verdict kAsk{rules::Verdict::kAsk, "Write", "Write", ""};

class TurnMachineTest : public ::testing::Test {
 protected:
  TurnMachine machine_{
      kTurn, "do it",
      [this](std::string_view prefix) { return std::string(prefix) + std::to_string(++ids_); }, 3};
  int ids_ = 0;
};

// The model calls one tool and the answer ends; the call's id is tcl1.
Effects OneCall(TurnMachine& machine, const std::string& arguments = R"({"path":"a"})") {
  machine.Start();
  machine.OnModelEvent(ToolUse{"provider-1", "Write", arguments});
  return machine.OnModelEnd(OkStatus());
}

const Call kCall{"tcl1", "Write", R"({"path":"a"})"};

Emit StartedWith(const std::string& json) {
  Emit out{EventOf(R"(tool_call_started { turn_id: "trn_1" tool_call_id: "tcl1"
                                          tool_name: "Write" })"),
           true};
  out.event.mutable_tool_call_started()->set_arguments_json(json);
  return out;
}
const Emit kStarted = StartedWith(R"({"path":"a"})");
Emit FinishedWith(const std::string& json, bool success) {
  Emit out{EventOf(R"(tool_call_finished { turn_id: "trn_1" tool_call_id: "tcl1"
                                           tool_name: "Write" })"),
           true};
  out.event.mutable_tool_call_finished()->set_result_json(json);
  out.event.mutable_tool_call_finished()->set_success(success);
  return out;
}
const Emit kReasoningEnds{EventOf(R"(reasoning_section_break { turn_id: "trn_1" })")};
Emit Says(const std::string& text) {
  Emit out{EventOf(R"(agent_message_delta { turn_id: "trn_1" })")};
  out.event.mutable_agent_message_delta()->set_delta(text);
  return out;
}

TEST_F(TurnMachineTest, AnswerWithoutCallsCompletesTheTurn) {
  EXPECT_EQ(machine_.Start(), (Effects{CallModel{}}));
  EXPECT_EQ(machine_.OnModelEvent(model::TextDelta{"Hel"}), (Effects{Says("Hel")}));
  machine_.OnModelEvent(model::TextDelta{"lo"});
  EXPECT_EQ(machine_.OnModelEnd(OkStatus()), (Effects{Finish{Ending::kCompleted, "Hello"}}));
  EXPECT_EQ(machine_.messages(), (std::vector<Message>{{MessageKind::kUser, "do it", {}},
                                                       {MessageKind::kAssistant, "Hello", {}}}));
}

TEST_F(TurnMachineTest, ReasoningIsClosedOnceBeforeWhatFollows) {
  machine_.Start();
  machine_.OnModelEvent(model::ReasoningDelta{"hm"});
  EXPECT_EQ(machine_.OnModelEvent(model::TextDelta{"a"}), (Effects{kReasoningEnds, Says("a")}));
  EXPECT_EQ(machine_.OnModelEvent(model::TextDelta{"b"}), (Effects{Says("b")}));
}

TEST_F(TurnMachineTest, ReasoningIsClosedWhenTheTurnFails) {
  machine_.Start();
  machine_.OnModelEvent(model::ReasoningDelta{"hm"});
  EXPECT_EQ(machine_.OnModelEnd(Unavailable("provider down")),
            (Effects{kReasoningEnds, Finish{Ending::kFailed, "provider down"}}));
}

TEST_F(TurnMachineTest, AllowedCallRunsAndTheModelIsCalledAgain) {
  EXPECT_EQ(OneCall(machine_, R"({ "path" : "a" })"), (Effects{kStarted, Authorize{kCall}}));
  EXPECT_EQ(machine_.OnVerdict(kAllow), (Effects{RunTool{kCall}}));
  EXPECT_EQ(machine_.OnToolResult(R"({"bytes":1})", true),
            (Effects{FinishedWith(R"({"bytes":1})", true), CallModel{}}));
  EXPECT_EQ(machine_.messages(),
            (std::vector<Message>{
                {MessageKind::kUser, "do it", {}},
                {MessageKind::kToolUse, "", {{"tcl1", "Write", R"({"path":"a"})"}}},
                {MessageKind::kToolResult, "", {{"tcl1", "Write", R"({"bytes":1})"}}}}));
}

TEST_F(TurnMachineTest, DeniedCallIsAResultAndTheTurnGoesOn) {
  OneCall(machine_);
  EXPECT_EQ(machine_.OnVerdict({rules::Verdict::kDeny, "Write", "", "permission denied: no"}),
            (Effects{FinishedWith(R"({"error":"permission denied: no"})", false), CallModel{}}));
}

TEST_F(TurnMachineTest, AskedCallRunsExactlyWhatWasShown) {
  OneCall(machine_, R"({"path": "a"})");
  const Effects asked = machine_.OnVerdict(kAsk);
  EXPECT_EQ(asked, (Effects{Ask{"apr2", kCall, "Write", "Write"}}));
  EXPECT_EQ(machine_.OnAnswer({true, "allow_once", "", 7}),
            (Effects{Emit{EventOf(R"(approval_resolved { turn_id: "trn_1" request_id: "apr2"
                                                          decision: "allow_once" by_uid: 7
                                                          by: "client" })"),
                          true},
                     RunTool{kCall}}));
}

TEST_F(TurnMachineTest, ACallThatHasRunIsNotRunAgainByAnAnswer) {
  OneCall(machine_);
  machine_.OnVerdict(kAllow);
  EXPECT_EQ(machine_.AskBeforeResult("Network(*)"),
            (Effects{Ask{"apr2", kCall, "Network(*)", "", rules::RiskClass::kNetworkEgress}}));
  const Effects allowed = machine_.OnAnswer({true, "allow_once", "", 7});
  ASSERT_EQ(allowed.size(), 2u);
  EXPECT_EQ(allowed[1], Effect(ResumeResult{true, ""}));
  machine_.AskBeforeResult("Network(*)");
  EXPECT_EQ(machine_.OnAnswer({false, "deny", "no", 7})[1], Effect(ResumeResult{false, "no"}));
  EXPECT_EQ(machine_.OnToolResult("{}", true), (Effects{FinishedWith("{}", true), CallModel{}}));
}

TEST_F(TurnMachineTest, DenialReachesTheModelWithItsNote) {
  OneCall(machine_);
  machine_.OnVerdict(kAsk);
  const Effects effects = machine_.OnAnswer({false, "deny", "use tmp", 0});
  ASSERT_EQ(effects.size(), 3u);
  EXPECT_EQ(effects[1],
            Effect(FinishedWith(R"({"error":"permission denied: tool Write was denied: use tmp"})",
                                false)));
  EXPECT_EQ(effects[2], Effect(CallModel{}));
}

TEST_F(TurnMachineTest, DenialOfACallThatNoRuleJudgedNamesItsTool) {
  OneCall(machine_);
  machine_.OnVerdict({rules::Verdict::kAsk, "", "Write: exactly", ""});
  EXPECT_EQ(machine_.OnAnswer({false, "deny", "", 0})[1],
            Effect(FinishedWith(R"({"error":"permission denied: tool Write was denied"})", false)));
}

TEST_F(TurnMachineTest, CallsOfOneAnswerRunOneAfterTheOther) {
  machine_.Start();
  machine_.OnModelEvent(model::TextDelta{"both"});
  machine_.OnModelEvent(ToolUse{"a", "LS", "{}"});
  machine_.OnModelEvent(ToolUse{"b", "LS", ""});
  const Call first{"tcl1", "LS", "{}"}, second{"tcl2", "LS", "{}"};
  EXPECT_EQ(machine_.OnModelEnd(OkStatus()).back(), Effect(Authorize{first}));
  machine_.OnVerdict(kAllow);
  EXPECT_EQ(machine_.OnToolResult("{}", true).back(), Effect(Authorize{second}));
  machine_.OnVerdict(kAllow);
  EXPECT_EQ(machine_.OnToolResult("{}", true).back(), Effect(CallModel{}));
  EXPECT_EQ(machine_.messages()[1].content, "both");
  EXPECT_EQ(machine_.messages()[1].tools.size(), 2u);
  EXPECT_EQ(machine_.messages().size(), 4u);
}

TEST_F(TurnMachineTest, ArgumentsThatAreNoObjectAreRefusedWithoutAsking) {
  EXPECT_EQ(OneCall(machine_, "{\"path\":"),
            (Effects{StartedWith(R"("{\"path\":")"),
                     FinishedWith(R"({"error":"invalid arguments: not a JSON object"})", false),
                     CallModel{}}));
  EXPECT_EQ(machine_.messages()[1].tools[0].json, "{}");
}

TEST_F(TurnMachineTest, ModelThatGoesInCirclesEndsAtTheCap) {
  OneCall(machine_);
  for (int i = 0; i < 2; ++i) {
    machine_.OnVerdict(kAllow);
    EXPECT_EQ(machine_.OnToolResult("{}", true).back(), Effect(CallModel{}));
    machine_.OnModelEvent(ToolUse{"x", "Write", "{}"});
    machine_.OnModelEnd(OkStatus());
  }
  machine_.OnVerdict(kAllow);
  EXPECT_EQ(
      machine_.OnToolResult("{}", true).back(),
      Effect(Finish{Ending::kFailed, "the turn used its 3 model calls without coming to an end"}));
}

// Every way out leaves each call in the conversation with a result, and each started call finished.
TEST_F(TurnMachineTest, StopAnswersEveryOpenCall) {
  machine_.Start();
  machine_.OnModelEvent(ToolUse{"a", "Write", R"({"path":"a"})"});
  machine_.OnModelEvent(ToolUse{"b", "LS", "{}"});
  machine_.OnModelEnd(OkStatus());
  machine_.OnVerdict(kAsk);
  EXPECT_EQ(machine_.Stop(Ending::kCancelled, ""),
            (Effects{FinishedWith(R"({"error":"execution failed: cancelled"})", false),
                     Finish{Ending::kCancelled, ""}}));
  ASSERT_EQ(machine_.messages().size(), 4u);
  EXPECT_EQ(machine_.messages()[2].tools[0].id, "tcl1");
  EXPECT_EQ(machine_.messages()[3].tools[0].id, "tcl2");
}

TEST_F(TurnMachineTest, StopDuringAnAnswerKeepsItsTextAndDropsItsCalls) {
  machine_.Start();
  machine_.OnModelEvent(model::TextDelta{"half"});
  machine_.OnModelEvent(ToolUse{"a", "LS", "{}"});
  EXPECT_EQ(machine_.Stop(Ending::kInterrupted, "gone"),
            (Effects{Finish{Ending::kInterrupted, "gone"}}));
  EXPECT_EQ(machine_.messages().back(), (Message{MessageKind::kAssistant, "half", {}}));
}

TEST_F(TurnMachineTest, NothingHappensAfterTheEnd) {
  OneCall(machine_);
  machine_.Stop(Ending::kCancelled, "");
  EXPECT_TRUE(machine_.Stop(Ending::kFailed, "again").empty());
  EXPECT_TRUE(machine_.OnToolResult("{}", true).empty());
  EXPECT_TRUE(machine_.OnVerdict(kAllow).empty());
  EXPECT_TRUE(machine_.OnAnswer({}).empty());
  EXPECT_TRUE(machine_.OnModelEvent(model::TextDelta{"x"}).empty());
  EXPECT_TRUE(machine_.OnModelEnd(OkStatus()).empty());
}

model::ModelEnd EndOf(agent::v1::EndReason reason, uint64_t tokens = 1) {
  model::ModelEnd out{.reason = reason, .words = "w"};
  out.usage.set_output_tokens(tokens);
  return out;
}

TEST_F(TurnMachineTest, CutAnswerCompletesWithItsTextAndCallsNothing) {
  for (const auto reason : {agent::v1::END_REASON_LENGTH, agent::v1::END_REASON_FILTER,
                            agent::v1::END_REASON_REFUSAL, agent::v1::END_REASON_UNSPECIFIED}) {
    TurnMachine machine(kTurn, "do it",
                        [](std::string_view prefix) { return std::string(prefix); });
    machine.Start();
    machine.OnModelEvent(model::TextDelta{"a"});
    machine.OnModelEvent(ToolUse{"c", "Write", R"({"path":"half"})"});
    machine.OnModelEvent(EndOf(reason));
    EXPECT_EQ(machine.OnModelEnd(OkStatus()), (Effects{Finish{Ending::kCompleted, "a"}}));
    agent::v1::TurnCompleted completed;
    machine.DescribeEnd(&completed);
    EXPECT_EQ(completed.end_reason(), reason);
    EXPECT_EQ(completed.end_words(), "w");
  }
}

TEST_F(TurnMachineTest, EmptyAnswerThatWasCutFailsTheTurn) {
  machine_.Start();
  machine_.OnModelEvent(EndOf(agent::v1::END_REASON_FILTER));
  const Effects effects = machine_.OnModelEnd(OkStatus());
  EXPECT_EQ(effects, (Effects{Finish{Ending::kFailed,
                                     "model answer: empty: the provider's content filter ended it; "
                                     "the provider reports: w"}}));
}

TEST_F(TurnMachineTest, KeepsTheReplayAndAddsUpTheUsage) {
  machine_.Start();
  machine_.OnModelEvent(ToolUse{"c", "Write", "{}"});
  model::ModelEnd end = EndOf(agent::v1::END_REASON_TOOL_CALLS, 3);
  end.replay = "kept";
  machine_.OnModelEvent(end);
  machine_.OnModelEnd(OkStatus());
  EXPECT_EQ(machine_.messages().back().replay, "kept");
  machine_.OnVerdict(kAllow);
  machine_.OnToolResult("{}", true);
  machine_.OnModelEvent(model::TextDelta{"a"});
  machine_.OnModelEvent(EndOf(agent::v1::END_REASON_STOP, 4));
  machine_.OnModelEnd(OkStatus());
  EXPECT_EQ(machine_.messages().back().replay, "");
  agent::v1::TurnCompleted completed;
  machine_.DescribeEnd(&completed);
  EXPECT_EQ(completed.usage().output_tokens(), 7u);
}

}  // namespace
}  // namespace odyssey::turn
