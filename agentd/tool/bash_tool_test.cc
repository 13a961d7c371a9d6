#include "agentd/tool/bash_tool.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "agentd/tool/tool_registry.h"
#include "policy/dialect/bundle.h"
#include "tests/fakes/fake_sandbox.h"

namespace odyssey::tools {
namespace {

using Json = nlohmann::json;
using sandbox::ExecResult;
using sandbox::Outcome;
using sandbox::OutputStream;

class BashToolTest : public ::testing::Test {
 protected:
  // Prints the pieces, then ends as `ended` says.
  void Behave(std::vector<std::pair<OutputStream, std::string>> pieces, ExecResult ended) {
    sandbox_.on_exec = [pieces, ended](const sandbox::ExecSpec&, const sandbox::ExecSink& sink,
                                       std::stop_token) -> Result<ExecResult> {
      ODY_RETURN_IF_ERROR(sink.started("exe_1"));
      for (const auto& [stream, text] : pieces) ODY_RETURN_IF_ERROR(sink.output(stream, text));
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
    context.emit = [this](event::Payload payload) {
      events_.push_back(std::move(payload));
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
  std::vector<event::Payload> events_;
  Status emit_status_;
  bool keep_output_ = true;
  const std::unique_ptr<Tool> tool_ = NewBashTool();
};

TEST_F(BashToolTest, GivesBothStreamsAndTheEventsInOrder) {
  Behave({{OutputStream::kStdout, "out"}, {OutputStream::kStderr, "err"}}, ExecResult{});
  EXPECT_EQ(RunJson(),
            Json::parse(R"({"status_code":0,"outcome":"exited","stdout":"out","stderr":"err",
                                      "stdout_truncated":false,"stderr_truncated":false})"));
  EXPECT_EQ(events_,
            (std::vector<event::Payload>{
                event::ExecCommandBegin{"trn_1", "exe_1", {"sh", "-lc", "x"}, "/workspace"},
                event::ExecCommandOutputDelta{"trn_1", "exe_1", "stdout", "out"},
                event::ExecCommandOutputDelta{"trn_1", "exe_1", "stderr", "err"},
                event::ExecCommandEnd{"trn_1", "exe_1", 0, "exited"}}));
}

TEST_F(BashToolTest, NonZeroExitIsANormalResult) {
  ExecResult ended;
  ended.exit_code = 3;
  Behave({}, ended);
  EXPECT_EQ(RunJson()["status_code"], 3);
}

TEST_F(BashToolTest, TruncationKeepsCharactersWholeAndSaysSo) {
  ExecResult ended;
  ended.stdout_truncated = true;
  Behave({{OutputStream::kStdout, "ab\xE2\x82"}}, ended);
  const Json result = RunJson();
  EXPECT_EQ(result["stdout"], "ab\n...[stdout truncated by sandbox]");
  EXPECT_EQ(result["stdout_truncated"], true);
  EXPECT_EQ(result["status_code"], 0);
}

TEST_F(BashToolTest, SaysWhereCutOutputIsInFull) {
  ExecResult ended;
  ended.stdout_truncated = true;
  ended.run_id = "run_0000000000000001";
  Behave({{OutputStream::kStdout, "ab"}}, ended);
  Json result = RunJson();
  EXPECT_EQ(result["stdout"], "ab\n...[stdout truncated by sandbox]");
  EXPECT_EQ(result["full_stdout"], "/cell/runs/run_0000000000000001/outbox/stdout");
  EXPECT_FALSE(result.contains("full_stderr"));
  EXPECT_FALSE(result.contains("message"));

  ended.stderr_truncated = true;
  ended.message = "the copy of stdout in the outbox is cut: No space left on device";
  Behave({}, ended);
  result = RunJson();
  EXPECT_EQ(result["full_stderr"], "/cell/runs/run_0000000000000001/outbox/stderr");
  EXPECT_EQ(result["message"], ended.message);

  keep_output_ = false;
  EXPECT_FALSE(RunJson().contains("full_stdout"));
}

TEST_F(BashToolTest, AsksForWhatIsCut) {
  bool kept = false;
  sandbox_.on_exec = [&](const sandbox::ExecSpec& spec, const sandbox::ExecSink&,
                         std::stop_token) -> Result<ExecResult> {
    kept = spec.keep_output;
    return ExecResult{};
  };
  RunJson();
  EXPECT_TRUE(kept);
  keep_output_ = false;
  RunJson();
  EXPECT_FALSE(kept);
}

TEST_F(BashToolTest, OutputThatIsNotUtf8IsShownAsBroken) {
  Behave({{OutputStream::kStdout, "a\xFF"}, {OutputStream::kStdout, "\xE2"}}, ExecResult{});
  EXPECT_EQ(RunJson()["stdout"], "a\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST_F(BashToolTest, TimeoutSaysTheLimit) {
  ExecResult ended;
  ended.outcome = Outcome::kTimedOut;
  Behave({{OutputStream::kStdout, "partial"}}, ended);
  const Json result = RunJson(false);
  EXPECT_EQ(result["error"], "execution failed: command exceeded wall clock limit of 1 seconds");
  EXPECT_EQ(result["stdout"], "partial");
  EXPECT_TRUE(result["status_code"].is_null());
  EXPECT_EQ(events_.back(),
            event::Payload(event::ExecCommandEnd{"trn_1", "exe_1", -1, "timed_out"}));
}

TEST_F(BashToolTest, SignalIsNotASuccess) {
  ExecResult ended;
  ended.outcome = Outcome::kSignalled;
  ended.signal = 9;
  Behave({}, ended);
  const Json result = RunJson(false);
  EXPECT_EQ(result["signal"], 9);
  EXPECT_TRUE(result["status_code"].is_null());
}

TEST_F(BashToolTest, CellThatEndedEndsTheTurnAndClosesTheCommand) {
  sandbox_.on_exec = [](const sandbox::ExecSpec&, const sandbox::ExecSink& sink,
                        std::stop_token) -> Result<ExecResult> {
    ODY_RETURN_IF_ERROR(sink.started("exe_1"));
    return Unavailable("gone");
  };
  EXPECT_EQ(Call(R"({"command":"x"})").status().code(), Code::kUnavailable);
  EXPECT_EQ(events_.back(),
            event::Payload(event::ExecCommandEnd{"trn_1", "exe_1", -1, "setup_failed"}));
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
            InvalidArgument("unknown argument \"timeout\"; allowed: command, cwd"));
}

TEST(ToolRegistryTest, NamesWhatIsMissingAndWhatThereIs) {
  const ToolRegistry registry;
  EXPECT_EQ(registry.Names(), (std::vector<std::string>{"Bash", "Edit", "LS", "Read", "Write"}));
  EXPECT_EQ(registry.Names(), dialect::ProvidedTools()) << "of which bundle validate warns";
  EXPECT_TRUE(registry.CheckAvailable({"Read", "Bash"}).ok());
  EXPECT_EQ(registry.CheckAvailable({"Read", "Grep"}),
            InvalidArgument("tools[1]: Grep: is not available in this version; available: Bash, "
                            "Edit, LS, Read, Write"));
}

TEST_F(BashToolTest, WhatWasRefusedIsAnEventAndPartOfTheResult) {
  const agent::Denial denial{"path",          "/srv/x",   "write",   "mount /srv read_only",
                             "a: [\"/srv\"]", "touch[3]", "command", "exe_1",
                             "ses_1",         "deny"};
  sandbox_.on_exec = [denial](const sandbox::ExecSpec&, const sandbox::ExecSink& sink,
                              std::stop_token) -> Result<ExecResult> {
    ODY_RETURN_IF_ERROR(sink.started("exe_1"));
    ODY_RETURN_IF_ERROR(sink.denied(denial));
    return ExecResult{.exit_code = 1};
  };
  EXPECT_EQ(RunJson()["denials"],
            Json::parse(R"([{"kind":"path","resource":"/srv/x","access":"write",
                "rule":"mount /srv read_only","grant":"a: [\"/srv\"]","source":"command",
                "process":"touch[3]","exec_id":"exe_1","session_id":"ses_1","verdict":"deny"}])"));
  ASSERT_EQ(events_.size(), 3u);
  EXPECT_EQ(events_[1], event::Payload(event::AccessDenied{"trn_1", "tcl_1", denial}));
}

}  // namespace
}  // namespace odyssey::tools
