#include "agentd/tool/bash_tool.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "agentd/tool/arguments.h"
#include "agentd/tool/tool_registry.h"
#include "policy/model/tool_table.h"
#include "tests/fakes/events.h"
#include "tests/fakes/fake_sandbox.h"

namespace odyssey::tools {
namespace {

using Json = nlohmann::json;
using agent::v1::Event;
using fakes::EventOf;
using fakes::Exited;
using supervisor::v1::ExecOutcome;
using supervisor::v1::ExecStart;
using supervisor::v1::OutputStream;

constexpr OutputStream kStdout = supervisor::v1::OUTPUT_STREAM_STDOUT;
constexpr OutputStream kStderr = supervisor::v1::OUTPUT_STREAM_STDERR;

class BashToolTest : public ::testing::Test {
 protected:
  // Prints the pieces, then ends as `ended` says.
  void Behave(std::vector<std::pair<OutputStream, std::string>> pieces, ExecOutcome ended) {
    sandbox_.on_exec = [this, pieces, ended](const ExecStart&, const sandbox::ExecSink& sink,
                                             std::stop_token) -> Result<ExecOutcome> {
      ODY_RETURN_IF_ERROR(fakes::Begin(sink, run_id_));
      for (const auto& [stream, text] : pieces) {
        ODY_RETURN_IF_ERROR(fakes::Print(sink, text, stream));
      }
      return ended;
    };
  }
  Result<ToolResult> Call(const std::string& arguments) {
    ToolContext context;
    context.sandbox = &sandbox_;
    context.cell_id = "cel_s";
    context.turn_id = "trn_1";
    context.tool_call_id = "tcl_1";
    context.wall_clock_ms = 1000;
    context.keep_output = keep_output_;
    context.emit = [this](Event event) {
      events_.push_back(std::move(event));
      return emit_status_;
    };
    return tool_->Run(arguments, context);
  }
  Json RunJson(bool expect_success = true) {
    Result<ToolResult> result = Call(R"({"command":"x"})");
    EXPECT_TRUE(result.ok()) << result.status().ToString();
    if (!result.ok()) return {};
    EXPECT_EQ(result->success, expect_success) << result->json;
    return Json::parse(result->json);
  }

  fakes::FakeSandbox sandbox_;
  std::vector<Event> events_;
  std::string run_id_;
  Status emit_status_;
  bool keep_output_ = true;
  const std::unique_ptr<Tool> tool_ = NewBashTool();
};

TEST_F(BashToolTest, GivesBothStreamsAndTheEventsInOrder) {
  Behave({{kStdout, "out"}, {kStderr, "err"}}, Exited());
  EXPECT_EQ(RunJson(),
            Json::parse(R"({"status_code":0,"outcome":"exited","stdout":"out","stderr":"err",
                                      "stdout_truncated":false,"stderr_truncated":false})"));
  EXPECT_EQ(events_,
            (std::vector<Event>{
                EventOf(R"(exec_command_begin { turn_id: "trn_1" exec_id: "exe_1" command: "sh"
                                                command: "-lc" command: "x" cwd: "/workspace" })"),
                EventOf(R"(exec_command_output_delta { turn_id: "trn_1" exec_id: "exe_1"
                                                       stream: "stdout" delta: "out" })"),
                EventOf(R"(exec_command_output_delta { turn_id: "trn_1" exec_id: "exe_1"
                                                       stream: "stderr" delta: "err" })"),
                EventOf(R"(exec_command_end { turn_id: "trn_1" exec_id: "exe_1" exit_code: 0
                                              outcome: "exited" })")}));
}

TEST_F(BashToolTest, NonZeroExitIsANormalResult) {
  Behave({}, Exited(3));
  EXPECT_EQ(RunJson()["status_code"], 3);
}

TEST_F(BashToolTest, TruncationKeepsCharactersWholeAndSaysSo) {
  ExecOutcome ended = Exited();
  ended.set_stdout_truncated(true);
  Behave({{kStdout, "ab\xE2\x82"}}, ended);
  const Json result = RunJson();
  EXPECT_EQ(result["stdout"], "ab\n...[stdout truncated by sandbox]");
  EXPECT_EQ(result["stdout_truncated"], true);
  EXPECT_EQ(result["status_code"], 0);
}

TEST_F(BashToolTest, SaysWhereCutOutputIsInFull) {
  ExecOutcome ended = Exited();
  ended.set_stdout_truncated(true);
  run_id_ = "run_0000000000000001";
  Behave({{kStdout, "ab"}}, ended);
  Json result = RunJson();
  EXPECT_EQ(result["stdout"], "ab\n...[stdout truncated by sandbox]");
  EXPECT_EQ(result["full_stdout"], "/cell/runs/run_0000000000000001/outbox/stdout");
  EXPECT_FALSE(result.contains("full_stderr"));
  EXPECT_FALSE(result.contains("message"));

  ended.set_stderr_truncated(true);
  ended.set_message("the copy of stdout in the outbox is cut: No space left on device");
  Behave({}, ended);
  result = RunJson();
  EXPECT_EQ(result["full_stderr"], "/cell/runs/run_0000000000000001/outbox/stderr");
  EXPECT_EQ(result["message"], ended.message());

  keep_output_ = false;
  EXPECT_FALSE(RunJson().contains("full_stdout"));
}

TEST_F(BashToolTest, AsksForWhatIsCut) {
  bool kept = false;
  sandbox_.on_exec = [&](const ExecStart& start, const sandbox::ExecSink&,
                         std::stop_token) -> Result<ExecOutcome> {
    kept = start.keep_output();
    return Exited();
  };
  RunJson();
  EXPECT_TRUE(kept);
  keep_output_ = false;
  RunJson();
  EXPECT_FALSE(kept);
}

TEST_F(BashToolTest, OutputThatIsNotUtf8IsShownAsBroken) {
  Behave({{kStdout, "a\xFF"}, {kStdout, "\xE2"}}, Exited());
  EXPECT_EQ(RunJson()["stdout"], "a\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST_F(BashToolTest, SaysWhichProcessesEndedWithTheCommand) {
  ExecOutcome ended = Exited();
  ended.add_ended_processes("python3");
  Behave({}, ended);
  const Json result = RunJson();
  EXPECT_EQ(result["ended_processes"], Json::parse(R"(["python3"])"));
  EXPECT_NE(result["note"].get<std::string>().find("background: true"), std::string::npos);
}

TEST_F(BashToolTest, TimeoutSaysTheLimit) {
  ExecOutcome ended;
  ended.set_kind(supervisor::v1::OUTCOME_KIND_TIMED_OUT);
  ended.set_message("command exceeded wall clock limit of 1 seconds");
  Behave({{kStdout, "partial"}}, ended);
  const Json result = RunJson(false);
  EXPECT_EQ(result["error"], "execution failed: command exceeded wall clock limit of 1 seconds");
  EXPECT_EQ(result["stdout"], "partial");
  EXPECT_TRUE(result["status_code"].is_null());
  EXPECT_EQ(events_.back(),
            EventOf(R"(exec_command_end { turn_id: "trn_1" exec_id: "exe_1" exit_code: -1
                                         outcome: "timed_out" })"));
}

TEST_F(BashToolTest, SignalIsNotASuccess) {
  ExecOutcome ended;
  ended.set_kind(supervisor::v1::OUTCOME_KIND_SIGNALLED);
  ended.set_signal(9);
  Behave({}, ended);
  const Json result = RunJson(false);
  EXPECT_EQ(result["signal"], 9);
  EXPECT_TRUE(result["status_code"].is_null());
}

TEST_F(BashToolTest, CellThatEndedEndsTheTurnAndClosesTheCommand) {
  sandbox_.on_exec = [](const ExecStart&, const sandbox::ExecSink& sink,
                        std::stop_token) -> Result<ExecOutcome> {
    ODY_RETURN_IF_ERROR(fakes::Begin(sink));
    return Unavailable("gone");
  };
  EXPECT_EQ(Call(R"({"command":"x"})").status().code(), Code::kUnavailable);
  EXPECT_EQ(events_.back(),
            EventOf(R"(exec_command_end { turn_id: "trn_1" exec_id: "exe_1" exit_code: -1
                                         outcome: "setup_failed" })"));
}

TEST_F(BashToolTest, UnwritableJournalEndsTheTurn) {
  emit_status_ = Internal("disk full");
  EXPECT_EQ(Call(R"({"command":"x"})").status(), Internal("disk full"));
}

TEST_F(BashToolTest, BlankCommandIsInvalid) {
  for (const char* arguments : {R"({"command":""})", R"({"command":" \n"})"}) {
    EXPECT_EQ(tool_->ForRules(arguments).status(), InvalidArgument("command cannot be empty"));
  }
  EXPECT_EQ(tool_->ForRules(R"({"command":"ls","timeout":5})").status(),
            InvalidArgument("unknown argument \"timeout\"; allowed: command, background, cwd, "
                            "grants, reason"));
}

TEST(ToolRegistryTest, EveryRowOfTheTableRuns) {
  const ToolRegistry registry;
  EXPECT_EQ(registry.Names(), policy::ToolNames()) << "which a bundle may name, and no other";
  for (const policy::ToolRow& row : policy::kTools) {
    const model::ToolSpec spec = registry.Find(row.name)->Spec();
    EXPECT_EQ(spec.name, row.name);
    EXPECT_EQ(spec.parameters_json, SchemaOf(row.arguments));
    const bool judged = std::any_of(
        row.arguments.begin(), row.arguments.end(),
        [&](const policy::ToolArgument& a) { return std::string_view(a.name) == row.subject; });
    EXPECT_TRUE(judged) << row.name << ": the rules judge an argument that it does not have";
  }
}

TEST_F(BashToolTest, WhatWasRefusedIsAnEventAndPartOfTheResult) {
  const Event told = EventOf(
      R"(access_denied { turn_id: "trn_1" tool_call_id: "tcl_1"
                         denial { kind: "path" resource: "/srv/x" access: "write"
                                  rule: "mount /srv read_only" grant: "a: [\"/srv\"]"
                                  process: "touch[3]" hint: true exec_id: "exe_1"
                                  session_id: "ses_1" verdict: "deny" count: 1 } })");
  const supervisor::v1::Denial denial = told.access_denied().denial();
  sandbox_.on_exec = [denial](const ExecStart&, const sandbox::ExecSink& sink,
                              std::stop_token) -> Result<ExecOutcome> {
    ODY_RETURN_IF_ERROR(fakes::Begin(sink));
    ODY_RETURN_IF_ERROR(sink.denied(denial));
    return Exited(1);
  };
  EXPECT_EQ(RunJson()["denials"],
            Json::parse(R"([{"kind":"path","resource":"/srv/x","access":"write",
                "rule":"mount /srv read_only","grant":"a: [\"/srv\"]","hint":true,
                "process":"touch[3]","exec_id":"exe_1","session_id":"ses_1","verdict":"deny"}])"));
  ASSERT_EQ(events_.size(), 3u);
  EXPECT_EQ(events_[1], told);
}

}  // namespace
}  // namespace odyssey::tools
