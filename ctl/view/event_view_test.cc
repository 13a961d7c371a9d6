#include "ctl/view/event_view.h"

#include <gtest/gtest.h>

#include <string>

namespace odyssey::ctl {
namespace {

using agent::v1::Event;

// Events made by hand, each 10 ms after the one before.
class EventViewTest : public testing::Test {
 protected:
  Event Next() {
    Event event;
    event.set_created_at("2026-01-02T03:04:05." + std::to_string(100 + 10 * count_++) + "Z");
    return event;
  }
  void Message(const std::string& text) {
    Event event = Next();
    event.mutable_agent_message_delta()->set_delta(text);
    Show(event);
  }
  void Call(const std::string& tool, const std::string& arguments) {
    Event event = Next();
    event.mutable_tool_call_started()->set_tool_name(tool);
    event.mutable_tool_call_started()->set_arguments_json(arguments);
    Show(event);
  }
  void Finish(const std::string& tool, const std::string& result, bool success) {
    Event event = Next();
    event.mutable_tool_call_finished()->set_tool_name(tool);
    event.mutable_tool_call_finished()->set_result_json(result);
    event.mutable_tool_call_finished()->set_success(success);
    Show(event);
  }
  void Begin() {
    Event event = Next();
    auto* begin = event.mutable_exec_command_begin();
    for (const char* word : {"/bin/sh", "-lc", "echo hi"}) begin->add_command(word);
    Show(event);
  }
  void Output(const std::string& text) {
    Event event = Next();
    event.mutable_exec_command_output_delta()->set_delta(text);
    Show(event);
  }
  void End(int code, const std::string& outcome) {
    Event event = Next();
    event.mutable_exec_command_end()->set_exit_code(code);
    event.mutable_exec_command_end()->set_outcome(outcome);
    Show(event);
  }
  void Complete(const std::string& message) {
    Event event = Next();
    event.mutable_turn_completed()->set_message(message);
    Show(event);
  }
  void Show(const Event& event) { shown_ += view_.Show(event); }

  int count_ = 0;
  EventView view_{{.color = false, .width = 20, .head_lines = 2, .tail_lines = 1}};
  std::string shown_;
};

TEST_F(EventViewTest, ShowsAToolCallWithItsCommand) {
  Message("Let me ");
  Message("look.");
  Call("Bash", R"({"command":"rg -n TODO"})");
  Begin();
  Output("a.cc:1: TODO\n");
  End(0, "exited");
  Finish("Bash", R"({"exit_code":0,"stdout":"a.cc:1: TODO\n"})", true);
  Message("Done.\n");
  Complete("Done.");
  EXPECT_EQ(shown_,
            "Let me look.\n"
            "→ Bash  rg -n TODO\n"
            "    a.cc:1: TODO\n"
            "    exit 0 · 20 ms · 1 line\n"
            "✓ Bash\n"
            "Done.\n");
}

TEST_F(EventViewTest, ShowsHowAnAnswerThatIsNotWholeEnded) {
  const auto complete = [this](agent::v1::EndReason reason) {
    shown_.clear();
    Event event = Next();
    event.mutable_turn_completed()->set_message("a");
    event.mutable_turn_completed()->set_end_reason(reason);
    event.mutable_turn_completed()->set_end_words("w\x1b");
    Show(event);
    return shown_;
  };
  EXPECT_EQ(complete(agent::v1::END_REASON_STOP), "a\n");
  const std::string length = complete(agent::v1::END_REASON_LENGTH);
  EXPECT_EQ(length.rfind("a\n! the answer is cut: it reached the limit of tokens (w", 0), 0u)
      << length;
  EXPECT_EQ(length.find('\x1b'), std::string::npos);
  EXPECT_NE(complete(agent::v1::END_REASON_REFUSAL).find("the model refused"), std::string::npos);
}

TEST_F(EventViewTest, LongOutputIsItsFirstAndLastLines) {
  Call("Bash", R"({"command":"seq 6"})");
  Begin();
  Output("1\n2\n3");
  Output("\n4\n5\n");
  Output("a line of more than twenty characters");
  End(3, "exited");
  EXPECT_EQ(shown_,
            "→ Bash  seq 6\n"
            "    1\n"
            "    2\n"
            "    … 3 more lines\n"
            "    a line of more than …\n"
            "    exit 3 · 40 ms · 6 lines\n");
}

TEST_F(EventViewTest, WhatWasRefusedComesAfterTheOutput) {
  const auto deny = [this](const std::string& resource) {
    Event event = Next();
    event.mutable_access_denied()->mutable_denial()->set_resource(resource);
    Show(event);
  };
  Begin();
  Output("a\tb\ncut off");
  deny("/usr/x");
  Output("\n...[cut]");
  End(1, "exited");
  EXPECT_NE(shown_.find("    a       b\n    cut off\n    ...[cut]\n"
                        "    ✗ denied:  /usr/x ()\n    exit 1"),
            std::string::npos)
      << shown_;
  shown_.clear();
  deny("/usr/y");
  EXPECT_EQ(shown_, "    ✗ denied:  /usr/y ()\n") << "of a file operation: at once";
}

TEST_F(EventViewTest, AForkedSessionNamesWhereItComesFrom) {
  Event event = Next();
  event.mutable_session_forked()->set_from_session_id("ses_1");
  event.mutable_session_forked()->set_turns(1);
  Show(event);
  EXPECT_EQ(shown_, "forked from ses_1 with 1 turn\n");
}

TEST_F(EventViewTest, CommandOutsideATurnShowsItsArgv) {
  Begin();
  End(-1, "timed_out");
  EXPECT_EQ(shown_,
            "$ /bin/sh -lc 'echo hi…\n"
            "    timed out · 10 ms · 0 lines\n");
}

// It may end long after the call that started it.
TEST_F(EventViewTest, TheEndOfAJobNamesIt) {
  Event begin = Next();
  begin.mutable_exec_command_begin()->set_exec_id("exe_1");
  begin.mutable_exec_command_begin()->set_job_id("job_1");
  Show(begin);
  Event end = Next();
  end.mutable_exec_command_end()->set_exec_id("exe_1");
  end.mutable_exec_command_end()->set_outcome("exited");
  Show(end);
  EXPECT_NE(shown_.find("job_1: exit 0"), std::string::npos) << shown_;
}

TEST_F(EventViewTest, FailedCallSaysWhy) {
  Call("Read", R"({"path":"/etc/shadow"})");
  Finish("Read", R"({"error":"permission denied"})", false);
  EXPECT_EQ(shown_, "→ Read  /etc/shadow\n✗ Read  permission denied\n");
}

TEST_F(EventViewTest, AnswerThatWasNotStreamedIsShownAtTheEnd) {
  Complete("All at once.");
  EXPECT_EQ(shown_, "All at once.\n");
}

TEST_F(EventViewTest, InterruptedTurnIsToldFromAFailedOne) {
  Message("half");
  Event event = Next();
  event.mutable_turn_failed()->set_message("agentd ended");
  event.mutable_turn_failed()->set_interrupted(true);
  Show(event);
  EXPECT_EQ(shown_, "half\n✗ turn interrupted: agentd ended\n");
}

TEST_F(EventViewTest, WhyATurnFailedIsOneLineAndShownOnce) {
  Event error = Next(), failed = Next();
  error.mutable_error()->set_message("read a\nb:\tno\r");
  failed.mutable_turn_failed()->set_message("read a\nb:\tno\r");
  Show(error);
  Show(failed);
  EXPECT_EQ(shown_, "✗ turn failed: read a\\nb:\\tno\\r\n");
}

TEST_F(EventViewTest, RemovedEventsAreTold) {
  Event event = Next();
  event.mutable_events_removed()->set_first_sequence(1);
  event.mutable_events_removed()->set_last_sequence(812);
  event.mutable_events_removed()->set_reason("retention");
  Show(event);
  EXPECT_EQ(shown_, "events 1 to 812 were removed: retention\n");
}

TEST_F(EventViewTest, AgentCannotActOnTheTerminal) {
  Message("\x1b]52;c;eA==\x07hello\rHELLO\n");
  Call("Ba\x1bsh", "{}");
  Call("Bash", R"({"command":"ls\n\u001b[1A\u001b[2Krm"})");
  Begin();
  Output("\x1b[2J\u202etxt.exe\r\n");
  End(0, "exi\x1bted");
  Finish("Bash", "{\"error\":\"\\u001b[31m\"}", false);
  Complete("\x1b");
  EXPECT_EQ(shown_.find_first_of("\x1b\x07\r"), std::string::npos);
  EXPECT_EQ(shown_.find("\u202e"), std::string::npos);
  EXPECT_NE(shown_.find("\\e]52;c;eA==\\x07hello\\rHELLO"), std::string::npos);
  EXPECT_NE(shown_.find("→ Ba\\esh"), std::string::npos);
  EXPECT_NE(shown_.find("→ Bash  ls\\n\\e[1A\\e[2Krm"), std::string::npos);
}

TEST(ParseTimeTest, ReadsMillisecondsOfUtc) {
  EXPECT_EQ(ParseTimeMs("1970-01-01T00:00:01.250Z"), 1250u);
  EXPECT_EQ(ParseTimeMs("1970-01-01T00:00:01.250+02:00"), 0u);
  EXPECT_EQ(ParseTimeMs("yesterday"), 0u);
}

TEST_F(EventViewTest, AGrantAndItsEndAreTold) {
  EventView view({});
  Event resolved;
  resolved.mutable_approval_resolved()->set_decision("allow_once");
  resolved.mutable_approval_resolved()->set_grant_scope(agent::v1::GRANT_SCOPE_SESSION);
  resolved.mutable_approval_resolved()->set_grants_expire_at("2026-03-24T09:31:00.000Z");
  EXPECT_EQ(view.Show(resolved),
            "    allowed once, its additions for the session until 2026-03-24T09:31:00.000Z by uid "
            "0\n");
  resolved.mutable_approval_resolved()->set_grant_scope(agent::v1::GRANT_SCOPE_CALL);
  resolved.mutable_approval_resolved()->clear_grants_expire_at();
  EXPECT_EQ(view.Show(resolved), "    allowed once, its additions for this call by uid 0\n");
  Event ended;
  ended.mutable_grant_ended()->set_request_id("apr_1");
  ended.mutable_grant_ended()->set_reason("expired");
  EXPECT_EQ(view.Show(ended), "grant apr_1 ended: expired\n");
}

}  // namespace
}  // namespace odyssey::ctl
