#include "agentd/model/chat_completions.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace odyssey::model {
namespace {

using Json = nlohmann::json;

struct Decoded {
  std::vector<ModelEvent> events;
  Status status;
};

Decoded Decode(const std::vector<std::string>& chunks) {
  ChatStreamDecoder decoder;
  Decoded out;
  const ModelSink sink = [&](ModelEvent event) {
    out.events.push_back(std::move(event));
    return OkStatus();
  };
  for (const std::string& chunk : chunks) {
    out.status = decoder.Push(chunk, sink);
    if (!out.status.ok()) return out;
  }
  out.status = decoder.Finish(sink);
  return out;
}

TEST(ChatStreamDecoderTest, DeliversTextAndReasoningAsTheyCome) {
  const Decoded got = Decode({R"({"choices":[{"delta":{"role":"assistant","content":""}}]})",
                              R"({"choices":[{"delta":{"reasoning_content":"hm"}}]})",
                              R"({"choices":[{"delta":{"content":"Hel"}}]})",
                              R"({"choices":[{"delta":{"content":"lo"}}]})",
                              R"({"choices":[{"delta":{},"finish_reason":"stop"}]})",
                              R"({"choices":[],"usage":{"total_tokens":3}})", "[DONE]"});
  EXPECT_TRUE(got.status.ok()) << got.status.ToString();
  EXPECT_EQ(got.events,
            (std::vector<ModelEvent>{ReasoningDelta{"hm"}, TextDelta{"Hel"}, TextDelta{"lo"}}));
}

TEST(ChatStreamDecoderTest, JoinsToolCallsByIndex) {
  const Decoded got = Decode(
      {R"({"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"Read","arguments":""}}]}}]})",
       R"({"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"path\":"}}]}}]})",
       R"({"choices":[{"delta":{"tool_calls":[{"index":1,"id":"c2","function":{"name":"LS","arguments":"{}"}}]}}]})",
       R"({"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"a\"}"}}]},"finish_reason":"tool_calls"}]})"});
  EXPECT_TRUE(got.status.ok()) << got.status.ToString();
  EXPECT_EQ(got.events, (std::vector<ModelEvent>{ToolUse{"c1", "Read", R"({"path":"a"})"},
                                                 ToolUse{"c2", "LS", "{}"}}));
}

TEST(ChatStreamDecoderTest, AnswerThatIsCutOffIsAnErrorAndCallsNothing) {
  const Decoded got = Decode(
      {R"({"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"Bash","arguments":"{\"comm"}}]}}]})"});
  EXPECT_EQ(got.status.code(), Code::kUnavailable);
  EXPECT_TRUE(got.events.empty());
}

TEST(ChatStreamDecoderTest, ReportsProviderErrorsAndNonsense) {
  EXPECT_EQ(Decode({R"({"error":{"message":"overloaded"}})"}).status,
            Unavailable("model provider reports: overloaded"));
  for (const char* bad : {"", "nonsense", "[]", R"({"choices":[5]})",
                          R"({"choices":[{"delta":{"tool_calls":[1]}}]})"}) {
    EXPECT_EQ(Decode({bad}).status.code(), Code::kInternal) << bad;
  }
}

TEST(EncodeChatRequestTest, WritesEveryKindOfMessage) {
  ModelRequest request;
  request.system = "be brief";
  request.messages = {{MessageKind::kUser, "hi", {}},
                      {MessageKind::kToolUse, "", {{"c1", "Read", R"({"path":"a"})"}}},
                      {MessageKind::kToolResult, "", {{"c1", "Read", R"({"content":"x"})"}}},
                      {MessageKind::kAssistant, "done", {}}};
  request.tools = {{"Read", "Read a file", R"({"type":"object"})"}};
  ChatOptions options;
  options.temperature = 0.5;
  EXPECT_EQ(Json::parse(EncodeChatRequest("m", options, request)), Json::parse(R"({
    "model":"m","stream":true,"temperature":0.5,
    "messages":[{"role":"system","content":"be brief"},{"role":"user","content":"hi"},
      {"role":"assistant","content":null,"tool_calls":[
        {"id":"c1","type":"function","function":{"name":"Read","arguments":"{\"path\":\"a\"}"}}]},
      {"role":"tool","tool_call_id":"c1","content":"{\"content\":\"x\"}"},
      {"role":"assistant","content":"done"}],
    "tools":[{"type":"function","function":{"name":"Read","description":"Read a file",
      "parameters":{"type":"object"}}}]})"));
}

TEST(ParseChatOptionsTest, AcceptsWhatIsAllowed) {
  Result<ChatOptions> options = ParseChatOptions(
      R"({"temperature":1,"top_p":0.9,"max_tokens":100,"timeout_seconds":5,"reasoning_effort":"low"})");
  ASSERT_TRUE(options.ok()) << options.status().ToString();
  EXPECT_EQ(options->max_tokens, 100u);
  EXPECT_EQ(options->timeout_seconds, 5u);
  EXPECT_TRUE(ParseChatOptions("null").ok());
}

TEST(ParseChatOptionsTest, NamesTheKeyTheValueAndWhatIsAllowed) {
  for (const auto& [config, phrase] : std::vector<std::pair<const char*, const char*>>{
           {R"({"temperature":3})", "model.config.temperature: 3"},
           {R"({"temperature":"x"})", "model.config.temperature"},
           {R"({"max_tokens":0})", "from 1"},
           {R"({"timeout_seconds":-1})", "from 1 to 3600"},
           {R"({"reasoning_effort":"huge"})", "low, medium, high"},
           {R"({"api_key":"k"})", "--model-key-file"},
           {R"({"base_url":"https://evil.example"})", "--model-base-url"},
           {R"({"speed":1})", "unknown key \"speed\""},
           {R"([1])", "a mapping"}}) {
    const Status status = ParseChatOptions(config).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << config;
    EXPECT_NE(status.message().find(phrase), std::string::npos) << status.message();
  }
}

}  // namespace
}  // namespace odyssey::model
