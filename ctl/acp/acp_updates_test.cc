#include "ctl/acp/acp_updates.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

namespace odyssey::ctl {
namespace {

using agent::v1::Event;

Event EventOf(const std::string& text) {
  Event event;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &event)) << text;
  return event;
}

class AcpUpdatesTest : public ::testing::Test {
 protected:
  std::vector<Json> Map(const std::string& text, Prompts prompts = Prompts::kHide) {
    return updates_.Map(EventOf(text), prompts);
  }
  Json One(const std::string& text) {
    const std::vector<Json> all = Map(text);
    EXPECT_EQ(all.size(), 1u) << text;
    return all.empty() ? Json() : all[0];
  }

  AcpUpdates updates_{"/home/u/p"};
};

TEST_F(AcpUpdatesTest, MessagesAreChunksAndNotRepeatedAtTheEnd) {
  EXPECT_EQ(One("agent_message_delta { delta: \"Hi\\033[2J\" }"),
            Json::parse(R"({"sessionUpdate":"agent_message_chunk",
                            "content":{"type":"text","text":"Hi\\e[2J"}})"));
  EXPECT_EQ(One("reasoning_delta { delta: \"hm\" }")["sessionUpdate"], "agent_thought_chunk");
  EXPECT_TRUE(Map("turn_completed { message: \"Hi\" }").empty());
}

TEST_F(AcpUpdatesTest, AModelThatDoesNotStreamIsHeardAtTheEnd) {
  Map("agent_message_delta { delta: \"I look\" }");
  Map("tool_call_started { tool_call_id: \"c\" tool_name: \"LS\" arguments_json: \"{}\" }");
  EXPECT_EQ(One("turn_completed { message: \"Done\" }")["content"]["text"], "Done");
}

TEST_F(AcpUpdatesTest, PromptsAreShownInAReplay) {
  const std::string started = "turn_started { prompt: \"do\" }";
  EXPECT_TRUE(Map(started).empty());
  EXPECT_EQ(Map(started, Prompts::kShow).at(0)["sessionUpdate"], "user_message_chunk");
}

TEST_F(AcpUpdatesTest, ACallHasItsCommandsOutputAndRefusals) {
  const Json started = One(
      R"(tool_call_started { tool_call_id: "c" tool_name: "Bash"
                             arguments_json: "{\"command\": \"make\"}" })");
  EXPECT_EQ(started["title"], "Bash make");
  EXPECT_EQ(started["kind"], "execute");
  EXPECT_EQ(started["status"], "in_progress");
  EXPECT_EQ(started["rawInput"]["command"], "make");
  EXPECT_TRUE(Map(R"(exec_command_begin { exec_id: "e" })").empty());
  const Json output = One(R"(exec_command_output_delta { exec_id: "e" delta: "a ``` b\n" })");
  EXPECT_EQ(output["toolCallId"], "c");
  EXPECT_EQ(output["content"][0]["content"]["text"], "````\na ``` b\n````");
  Map(R"(access_denied { tool_call_id: "c" denial { resource: "/usr/x" } })");
  const Json finished = One(
      R"(tool_call_finished { tool_call_id: "c" tool_name: "Bash" success: true
                              result_json: "{\"status_code\": 0}" })");
  EXPECT_EQ(finished["status"], "completed");
  EXPECT_EQ(finished["rawOutput"]["status_code"], 0);
  const std::string text = finished["content"][0]["content"]["text"];
  EXPECT_NE(text.find("/usr/x"), std::string::npos) << text;
}

TEST_F(AcpUpdatesTest, OutputOfAJobIsNotThatOfTheCall) {
  Map(R"(tool_call_started { tool_call_id: "c" tool_name: "Bash" arguments_json: "{}" })");
  Map(R"(exec_command_begin { exec_id: "e" job_id: "job_1" })");
  EXPECT_TRUE(Map(R"(exec_command_output_delta { exec_id: "e" delta: "x" })").empty());
}

TEST_F(AcpUpdatesTest, ALongOutputIsSentAFewTimesAndCut) {
  Map(R"(tool_call_started { tool_call_id: "c" tool_name: "Bash" arguments_json: "{}" })");
  Map(R"(exec_command_begin { exec_id: "e" })");
  size_t sent = 0;
  const std::string delta =
      R"(exec_command_output_delta { exec_id: "e" delta: ")" + std::string(99, 'x') + "\\n\" }";
  for (int i = 0; i < 2000; ++i) {
    for (const Json& update : Map(delta)) sent += update.dump().size();
  }
  EXPECT_LT(sent, 6u * 64 * 1024);
  const Json finished =
      One(R"(tool_call_finished { tool_call_id: "c" success: true result_json: "{}" })");
  const std::string text = finished["content"][0]["content"]["text"];
  EXPECT_LT(text.size(), 65u * 1024);
  EXPECT_NE(text.find("cut here"), std::string::npos);
}

TEST_F(AcpUpdatesTest, PathsAreThoseOfTheHost) {
  const std::pair<const char*, const char*> kCases[] = {
      {"mount/write/current/a/b.c", "/home/u/p/a/b.c"},
      {"/workspace/mount/read/current", "/home/u/p"},
      {"/workspace/mount/read/abs/srv/x", "/srv/x"},
      {"/workspace/mount/read/currently", ""},
      {"/workspace/notes", ""},
      {"/etc/passwd", ""}};
  for (const auto& [path, host] : kCases) {
    const Json started = One(
        R"(tool_call_started { tool_call_id: "c" tool_name: "Read" arguments_json: "{\"path\": \")" +
        std::string(path) + R"(\"}" })");
    const Json expected = *host == '\0' ? Json::array() : Json::array({{{"path", host}}});
    EXPECT_EQ(started["locations"], expected) << path;
  }
}

TEST_F(AcpUpdatesTest, WritesAndEditsAreDiffs) {
  const Json write = One(
      R"(tool_call_started { tool_call_id: "w" tool_name: "Write"
         arguments_json: "{\"path\": \"mount/write/current/n\", \"content\": \"new\"}" })");
  EXPECT_EQ(write["kind"], "edit");
  EXPECT_EQ(write["content"],
            Json::parse(R"([{"type":"diff","path":"/home/u/p/n","newText":"new"}])"));
  const Json edits = One(
      R"(tool_call_started { tool_call_id: "m" tool_name: "MultiEdit" arguments_json:
         "{\"path\": \"x\", \"edits\": [{\"old_text\": \"a\", \"new_text\": \"b\"}, 7]}" })");
  EXPECT_EQ(edits["content"],
            Json::parse(R"([{"type":"diff","path":"x","newText":"b","oldText":"a"}])"));
}

TEST_F(AcpUpdatesTest, APermissionIsOfItsCallAndShowsAllOfIt) {
  Map(R"(tool_call_started { tool_call_id: "c" tool_name: "Bash"
                             arguments_json: "{\"command\": \"rm -r x\"}" })");
  agent::v1::PermissionRequested request;
  request.set_tool_name("Bash");
  request.set_arguments_json("{\"command\": \"rm -r x\"}");
  request.set_rule("Bash(rm:*)");
  request.set_scope("Bash(rm:*): rm");
  request.set_request_id("req_1");
  const Json call = updates_.ToolCallOf(request);
  EXPECT_EQ(call["toolCallId"], "c");
  EXPECT_EQ(call["status"], "pending");
  const std::string text = call["content"][0]["content"]["text"];
  EXPECT_NE(text.find("rm -r x"), std::string::npos);
  EXPECT_NE(text.find("Bash(rm:*)"), std::string::npos);
  const Json options = AcpUpdates::OptionsOf(request);
  ASSERT_EQ(options.size(), 3u);
  EXPECT_EQ(options[1]["kind"], "allow_always");
  EXPECT_EQ(options[1]["name"], "Always allow in this session: Bash(rm:*): rm");
  // Of a worker's call there is no update here.
  request.set_arguments_json("{}");
  EXPECT_EQ(updates_.ToolCallOf(request)["toolCallId"], "req_1");
}

TEST(StopReasonTest, SaysHowTheAnswerEnded) {
  agent::v1::TurnCompleted completed;
  EXPECT_EQ(StopReasonOf(completed), "end_turn");
  completed.set_end_reason(agent::v1::END_REASON_LENGTH);
  EXPECT_EQ(StopReasonOf(completed), "max_tokens");
  completed.set_end_reason(agent::v1::END_REASON_REFUSAL);
  EXPECT_EQ(StopReasonOf(completed), "refusal");
}

}  // namespace
}  // namespace odyssey::ctl
