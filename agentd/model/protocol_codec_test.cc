#include "agentd/model/protocol_codec.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "agentd/model/answer.h"
#include "agentd/model/answer_body.h"
#include "agentd/model/chat_completions.h"

namespace odyssey::model {
namespace {

using Json = nlohmann::json;

std::string ReadAll(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream out;
  out << file.rdbuf();
  return out.str();
}

provider::Protocol ProtocolOfName(const std::string& name) {
  if (name.rfind("responses_", 0) == 0) return provider::kResponses;
  if (name.rfind("anthropic_", 0) == 0) return provider::kAnthropic;
  if (name.rfind("gemini_", 0) == 0) return provider::kGemini;
  return provider::kChat;
}

std::string NameOf(agent::v1::EndReason reason) {
  std::string name = agent::v1::EndReason_Name(reason).substr(11);
  for (char& c : name) c = static_cast<char>(tolower(c));
  return name;
}

// The lines of an .expected file.
struct Lines {
  std::string reasoning, text, rest;

  void Add(const ModelEvent& event) {
    if (const auto* piece = std::get_if<TextDelta>(&event)) text += piece->text;
    if (const auto* piece = std::get_if<ReasoningDelta>(&event)) reasoning += piece->text;
    if (const auto* call = std::get_if<ToolUse>(&event)) {
      rest += "call " + call->id + " " + call->name + " " + call->json + "\n";
    }
    const auto* end = std::get_if<ModelEnd>(&event);
    if (end == nullptr) return;
    const agent::v1::Usage& usage = end->usage;
    rest += "end " + NameOf(end->reason);
    for (const uint64_t count : {usage.input_tokens(), usage.output_tokens(),
                                 usage.cached_input_tokens(), usage.reasoning_tokens()}) {
      rest += " " + std::to_string(count);
    }
    rest += (end->words.empty() ? "" : " (" + end->words + ")") + "\n";
    if (!end->replay.empty()) rest += "replay " + Json::parse(end->replay)["value"].dump() + "\n";
  }
  std::string ToString() const {
    return (reasoning.empty() ? "" : "reasoning " + reasoning + "\n") +
           (text.empty() ? "" : "text " + text + "\n") + rest;
  }
};

struct Decoded {
  std::string lines;
  Status status;
};

// Reads `body` in pieces of `length` bytes.
Decoded Decode(provider::Protocol protocol, std::string_view body, size_t length) {
  const auto decoder = CodecOf(protocol).decoder();
  AnswerBody answer(decoder.get());
  Lines lines;
  const ModelSink sink = [&](ModelEvent event) {
    lines.Add(event);
    return OkStatus();
  };
  Status status;
  while (status.ok() && !body.empty()) {
    status = answer.Push(body.substr(0, length), sink);
    body.remove_prefix(std::min(length, body.size()));
  }
  if (status.ok()) status = answer.Finish(sink);
  return {lines.ToString(), status};
}

void Check(const std::string& name, const std::string& body, const std::string& expected,
           size_t length) {
  const Decoded got = Decode(ProtocolOfName(name), body, length);
  const size_t error = expected.find("error ");
  if (error == std::string::npos) {
    EXPECT_TRUE(got.status.ok()) << name << " " << length << ": " << got.status.ToString();
    EXPECT_EQ(got.lines, expected) << name << " " << length;
    return;
  }
  EXPECT_EQ(got.lines, expected.substr(0, error)) << name << " " << length;
  const std::string phrase = expected.substr(error + 6, expected.size() - error - 7);
  EXPECT_NE(got.status.message().find(phrase), std::string::npos)
      << name << " " << length << ": " << got.status.ToString();
}

TEST(ProtocolCodecTest, ReadsEachRecordingWholeAndCutAnywhere) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(ODYSSEY_RECORDINGS)) {
    if (entry.path().extension() != ".sse") continue;
    ++count;
    std::filesystem::path expected = entry.path();
    expected.replace_extension(".expected");
    const std::string body = ReadAll(entry.path());
    for (const size_t length : {body.size() + 1, size_t{1}, size_t{7}, size_t{64}}) {
      Check(entry.path().stem(), body, ReadAll(expected), length);
    }
  }
  EXPECT_GT(count, 40u);
}

TEST(ProtocolCodecTest, BoundsCalls) {
  std::string body;
  for (size_t i = 0; i <= kMaxCalls; ++i) {
    body += R"(data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"x"}}]}}]})"
            "\n\n";
  }
  EXPECT_EQ(Decode(provider::kGemini, body, body.size()).status.code(), Code::kResourceExhausted);
}

ModelTarget Target(const char* provider, const char* config = "null") {
  const provider::Provider* row = *provider::FindProvider(provider);
  return {row, "m", *provider::ParseModelConfig(*row, config)};
}

Json Encoded(const ModelTarget& target, const ModelRequest& request) {
  const auto protocol = provider::ProtocolOf(*target.provider, target.config);
  return Json::parse(EncodeBody(CodecOf(protocol), target, request));
}

// Two turns. The second called two tools and has a replay of `protocol`.
ModelRequest Conversation(const char* protocol, const Json& replay) {
  const std::string kept = WriteReplay(protocol, replay);
  ModelRequest out;
  out.system = "be brief";
  out.messages = {
      {MessageKind::kUser, "hi", {}},
      {MessageKind::kAssistant, "hello", {}, kept},
      {MessageKind::kUser, "go", {}},
      {MessageKind::kToolUse, "", {{"c1", "Read", R"({"p":1})"}, {"c2", "LS", "{}"}}, kept},
      {MessageKind::kToolResult, "", {{"c1", "Read", R"({"r":1})"}}},
      {MessageKind::kToolResult, "", {{"c2", "LS", R"({"r":2})"}}}};
  out.tools = {{"Read", "Read a file", R"({"type":"object"})"}};
  return out;
}

TEST(ProtocolCodecTest, ChatSendsReasoningBackInItsTurnOnly) {
  const Json body = Encoded(Target("deepseek", R"({"temperature":0.5,"maxTokens":7})"),
                            Conversation("chat", {{"reasoning_content", "hm"}}));
  EXPECT_EQ(body, Json::parse(R"({
    "model":"m","stream":true,"stream_options":{"include_usage":true},"temperature":0.5,
    "max_tokens":7,
    "messages":[{"role":"system","content":"be brief"},{"role":"user","content":"hi"},
      {"role":"assistant","content":"hello"},{"role":"user","content":"go"},
      {"role":"assistant","content":null,"reasoning_content":"hm","tool_calls":[
        {"id":"c1","type":"function","function":{"name":"Read","arguments":"{\"p\":1}"}},
        {"id":"c2","type":"function","function":{"name":"LS","arguments":"{}"}}]},
      {"role":"tool","tool_call_id":"c1","content":"{\"r\":1}"},
      {"role":"tool","tool_call_id":"c2","content":"{\"r\":2}"}],
    "tools":[{"type":"function","function":{"name":"Read","description":"Read a file",
      "parameters":{"type":"object"}}}]})"))
      << body.dump(1);
}

TEST(ProtocolCodecTest, WhatIsLeftOfABudgetBoundsTheAnswer) {
  const auto bound = [](const ModelTarget& target, uint64_t most, const char* field) {
    ModelRequest request = Conversation("none", {});
    request.max_answer_tokens = most;
    return Encoded(target, request).value(field, 0);
  };
  const ModelTarget own = Target("deepseek", R"({"max_tokens":900})");
  EXPECT_EQ(bound(own, 0, "max_tokens"), 900);
  EXPECT_EQ(bound(own, 5000, "max_tokens"), 900);
  EXPECT_EQ(bound(own, 50, "max_tokens"), 50);
  EXPECT_EQ(bound(Target("deepseek"), 50, "max_tokens"), 50);
  EXPECT_EQ(bound(Target("deepseek"), 1'000'000, "max_tokens"), 0) << "the model may write less";
  const ModelTarget thinks = Target("anthropic", R"({"reasoning_budget_tokens":2000})");
  EXPECT_EQ(bound(thinks, 50, "max_tokens"), 2001) << "the provider wants more than the reasoning";
  EXPECT_EQ(bound(thinks, 100'000, "max_tokens"), 10192);
}

TEST(ProtocolCodecTest, ReplayOfAnotherProtocolIsNotSent) {
  const Json body = Encoded(Target("deepseek"), Conversation("anthropic", {{"x", "hm"}}));
  EXPECT_EQ(body.dump().find("hm"), std::string::npos) << body.dump(1);
}

TEST(ProtocolCodecTest, ResponsesSendsReasoningItemsBeforeTheirCalls) {
  const Json item = {{"type", "reasoning"}, {"id", "rs"}, {"encrypted_content", "E"}};
  const Json body = Encoded(Target("openai", R"({"api":"responses","reasoning_effort":"low"})"),
                            Conversation("responses", Json::array({item})));
  EXPECT_EQ(body["input"], Json::parse(R"([
    {"role":"user","content":"hi"},{"role":"assistant","content":"hello"},
    {"role":"user","content":"go"},
    {"type":"reasoning","id":"rs","encrypted_content":"E"},
    {"type":"function_call","call_id":"c1","name":"Read","arguments":"{\"p\":1}"},
    {"type":"function_call","call_id":"c2","name":"LS","arguments":"{}"},
    {"type":"function_call_output","call_id":"c1","output":"{\"r\":1}"},
    {"type":"function_call_output","call_id":"c2","output":"{\"r\":2}"}])"))
      << body.dump(1);
  EXPECT_EQ(body["include"], Json::array({"reasoning.encrypted_content"}));
  EXPECT_EQ(body["store"], false);
}

TEST(ProtocolCodecTest, AnthropicSendsSignedThinkingAndJoinsResults) {
  const Json block = {{"type", "thinking"}, {"thinking", "hm"}, {"signature", "S"}};
  const Json body = Encoded(Target("anthropic", R"({"reasoning_budget_tokens":2000})"),
                            Conversation("anthropic", Json::array({block})));
  EXPECT_EQ(body["messages"], Json::parse(R"([
    {"role":"user","content":[{"type":"text","text":"hi"}]},
    {"role":"assistant","content":[{"type":"text","text":"hello"}]},
    {"role":"user","content":[{"type":"text","text":"go"}]},
    {"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"S"},
      {"type":"tool_use","id":"c1","name":"Read","input":{"p":1}},
      {"type":"tool_use","id":"c2","name":"LS","input":{}}]},
    {"role":"user","content":[
      {"type":"tool_result","tool_use_id":"c1","content":"{\"r\":1}"},
      {"type":"tool_result","tool_use_id":"c2","content":"{\"r\":2}"}]}])"))
      << body.dump(1);
  EXPECT_EQ(body["max_tokens"], 10192);
  EXPECT_EQ(body["thinking"]["budget_tokens"], 2000);
}

TEST(ProtocolCodecTest, GeminiSendsSignaturesWithTheirCalls) {
  const Json body = Encoded(Target("google", R"({"top_k":5})"),
                            Conversation("gemini", {{"text", ""}, {"calls", {"S", ""}}}));
  EXPECT_EQ(body["contents"], Json::parse(R"([
    {"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[{"text":"hello"}]},
    {"role":"user","parts":[{"text":"go"}]},
    {"role":"model","parts":[
      {"functionCall":{"name":"Read","args":{"p":1}},"thoughtSignature":"S"},
      {"functionCall":{"name":"LS","args":{}}}]},
    {"role":"user","parts":[{"functionResponse":{"name":"Read","response":{"r":1}}},
      {"functionResponse":{"name":"LS","response":{"r":2}}}]}])"))
      << body.dump(1);
  EXPECT_EQ(body["generationConfig"]["topK"], 5);
  EXPECT_EQ(body["systemInstruction"], Json::parse(R"({"parts":[{"text":"be brief"}]})"));
}

TEST(ProtocolCodecTest, PathsStayBelowTheBaseUrl) {
  ModelTarget gemini = Target("google");
  gemini.model = "../x?y";
  EXPECT_EQ(CodecOf(provider::kGemini).path(gemini),
            "/models/..%2Fx%3Fy:streamGenerateContent?alt=sse");
  EXPECT_EQ(kChatCodec.path(Target("azure-openai", R"({"deployment_id":"d","api_version":"v"})")),
            "/openai/deployments/d/chat/completions?api-version=v");
}

TEST(ProtocolCodecTest, ExtraBodyIsAdded) {
  const Json body = Encoded(Target("llama_cpp", R"({"extra_body":{"min_p":0.1}})"), ModelRequest{});
  EXPECT_EQ(body["min_p"], 0.1);
}

}  // namespace
}  // namespace odyssey::model
