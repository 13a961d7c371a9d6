#include "ctl/tui/transcript.h"

#include <gtest/gtest.h>

namespace odyssey::ctl {
namespace {

using agent::v1::Event;

class TranscriptTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { UseUtf8Characters(); }

  void Start(const std::string& prompt, const std::string& turn = "trn_1") {
    Event event;
    event.mutable_turn_started()->set_turn_id(turn);
    event.mutable_turn_started()->set_prompt(prompt);
    event.mutable_turn_started()->set_sandbox_mode("workspace_write");
    transcript_.Add(event);
  }
  void Say(const std::string& text) {
    Event event;
    event.mutable_agent_message_delta()->set_turn_id("trn_1");
    event.mutable_agent_message_delta()->set_delta(text);
    transcript_.Add(event);
  }
  void Complete(const std::string& text) {
    Event event;
    event.mutable_turn_completed()->set_turn_id("trn_1");
    event.mutable_turn_completed()->set_message(text);
    event.mutable_turn_completed()->set_end_reason(agent::v1::END_REASON_STOP);
    transcript_.Add(event);
  }
  void Run(const std::string& id, const std::string& turn, int lines) {
    Event event;
    event.mutable_exec_command_begin()->set_turn_id(turn);
    event.mutable_exec_command_begin()->set_exec_id(id);
    event.mutable_exec_command_begin()->add_command("seq");
    transcript_.Add(event);
    event.mutable_exec_command_output_delta()->set_turn_id(turn);
    event.mutable_exec_command_output_delta()->set_exec_id(id);
    for (int i = 0; i < lines; ++i) {
      event.mutable_exec_command_output_delta()->set_delta("line " + std::to_string(i) + "\n");
      transcript_.Add(event);
    }
    event.mutable_exec_command_end()->set_turn_id(turn);
    event.mutable_exec_command_end()->set_exec_id(id);
    transcript_.Add(event);
  }
  std::string Shown(size_t height = 1000, size_t columns = 80) const {
    std::string out;
    for (const StyledLine& row : transcript_.Show(height, columns).rows) {
      out += PlainText(row) + "\n";
    }
    return out;
  }

  Transcript transcript_;
};

TEST_F(TranscriptTest, ATurnIsItsPromptAndWhatCameOfIt) {
  Start("do it");
  Say("I am ");
  Say("at it.");
  EXPECT_EQ(Shown(), "\n› do it\ntrn_1 · workspace_write\nI am at it.\n");
  Complete("I am at it.");
  EXPECT_EQ(Shown(), "\n› do it\ntrn_1 · workspace_write\nI am at it.\n");
}

TEST_F(TranscriptTest, TheFinalMessageReplacesTheDraft) {
  Start("do it");
  Say("First I thought\nof this");
  Complete("It is that.");
  EXPECT_EQ(Shown(), "\n› do it\ntrn_1 · workspace_write\nIt is that.\n");
}

TEST_F(TranscriptTest, WhatCameBeforeAToolCallIsNoDraft) {
  Start("do it");
  Say("Looking.");
  Event call;
  call.mutable_tool_call_started()->set_tool_name("LS");
  call.mutable_tool_call_started()->set_arguments_json("{}");
  transcript_.Add(call);
  Complete("Found.");
  EXPECT_NE(Shown().find("Looking.\n"), std::string::npos);
  EXPECT_NE(Shown().find("Found.\n"), std::string::npos);
}

TEST_F(TranscriptTest, OfTheOperatorsCommandsAllIsShown) {
  Start("do it");
  Run("exe_1", "trn_1", 30);
  EXPECT_EQ(Shown().find("line 15\n"), std::string::npos);
  Run("exe_2", "trn_9", 30);
  EXPECT_NE(Shown().find("line 15\n"), std::string::npos);
}

// Nothing that an agent or a command wrote is sent to a terminal as it is.
TEST_F(TranscriptTest, HostileTextIsShownAsEscapes) {
  Start("p\x1b]0;title\x07");
  Say("a\x1b[2Jb\rc\x08 d\u202Ee\u200B");
  Run("exe_1", "trn_1\x1b[31m", 1);
  const std::string shown = Shown();
  for (const char* const visible :
       {"› p\\e]0;title\\x07", "a\\e[2Jb\\rc\\x08 d\\u{202e}e\\u{200b}"}) {
    EXPECT_NE(shown.find(visible), std::string::npos) << shown;
  }
  EXPECT_EQ(shown.find('\x1b'), std::string::npos);
}

TEST_F(TranscriptTest, AStyleGoesOnInTheNextLine) {
  Event event;
  event.mutable_reasoning_delta()->set_delta("one\ntwo");
  transcript_.Add(event);
  const std::vector<StyledLine> rows = transcript_.Show(10, 80).rows;
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1], (StyledLine{{"two", Tint::kDim}}));
}

TEST_F(TranscriptTest, AnExcerptLaysOutOnlyWhatItShows) {
  for (int i = 0; i < 10'000; ++i) Say("event " + std::to_string(i) + "\n");
  Transcript::Excerpt excerpt = transcript_.Show(20, 80);
  EXPECT_EQ(excerpt.laid_out, 20u);
  EXPECT_EQ(PlainText(excerpt.rows.back()), "event 9999");
  transcript_.Scroll(-5000, 20, 80);
  excerpt = transcript_.Show(20, 80);
  EXPECT_EQ(excerpt.laid_out, 20u);
  EXPECT_EQ(PlainText(excerpt.rows.front()), "event 4980");
}

TEST_F(TranscriptTest, TheExcerptFollowsUntilItIsScrolled) {
  for (int i = 0; i < 100; ++i) Say(std::to_string(i) + "\n");
  transcript_.Scroll(-10, 10, 80);
  EXPECT_FALSE(transcript_.follows());
  Say("new\n");
  EXPECT_EQ(PlainText(transcript_.Show(10, 80).rows.front()), "80");
  transcript_.Scroll(1000, 10, 80);
  EXPECT_TRUE(transcript_.follows());
  EXPECT_EQ(PlainText(transcript_.Show(10, 80).rows.back()), "new");
  transcript_.Scroll(-1000, 10, 80);
  EXPECT_EQ(PlainText(transcript_.Show(10, 80).rows.front()), "0");
  transcript_.ScrollToEnd();
  EXPECT_TRUE(transcript_.follows());
}

TEST_F(TranscriptTest, AShortOneDoesNotScroll) {
  Say("a\nb\n");
  transcript_.Scroll(-5, 10, 80);
  EXPECT_TRUE(transcript_.follows());
}

TEST_F(TranscriptTest, TheOldestLinesAreDropped) {
  for (size_t i = 0; i < Transcript::kMaxLines + 10; ++i) Say(std::to_string(i) + "\n");
  EXPECT_EQ(transcript_.size(), Transcript::kMaxLines);
  transcript_.Scroll(-1'000'000, 10, 80);
  EXPECT_EQ(PlainText(transcript_.Show(10, 80).rows.front()), "10");
}

TEST_F(TranscriptTest, ALineWithoutEndIsCutIntoLines) {
  Say(std::string(5 * Transcript::kMaxLineBytes, 'x'));
  EXPECT_EQ(transcript_.size(), 5u);
}

}  // namespace
}  // namespace odyssey::ctl
