#include "agentd/session_file/session_file.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace odyssey::session_file {
namespace {

using Json = nlohmann::json;
using model::MessageKind;

// As the contract shows it.
constexpr char kFull[] = R"({
  "id": "0f8fad5b-d9cb-469f-a165-70867728950e", "bundle_ref": "hello-world@latest",
  "agent_id": "hello-world", "model_provider": "openai", "model_id": "gpt-4.1-mini",
  "model_config": null, "created_at": "2026-03-24T09:30:00.5Z",
  "turns": [{"turn_id": "7c9e6679-7425-40de-944b-e07fc1f90ae7", "created_at": "2026-03-24T09:31:00Z",
    "chat_history": [
      {"role": "user", "content": "create file", "kind": "text", "tool_calls": []},
      {"role": "assistant", "content": "", "kind": "tool_use", "tool_calls": [
        {"id": "c1", "call_type": "function", "name": "Write", "arguments": "{\"path\":\"a\"}"}]},
      {"role": "tool", "content": "", "kind": "tool_result", "tool_calls": [
        {"id": "c1", "call_type": "function", "name": "Write", "arguments": "{\"bytes\":3,\"path\":\"a\"}"}]},
      {"role": "assistant", "content": "done", "kind": "text", "tool_calls": []}]}]})";

Json Full() { return Json::parse(kFull); }

SessionFile Decoded(const Json& json) {
  const Result<SessionFile> file = DecodeSessionFile(json.dump());
  EXPECT_TRUE(file.ok()) << file.status().ToString();
  return file.ok() ? *file : SessionFile();
}

TEST(SessionFileTest, ReadsWhatTheContractShows) {
  const SessionFile file = Decoded(Full());
  EXPECT_EQ(file.id, "0f8fad5b-d9cb-469f-a165-70867728950e");
  EXPECT_EQ(file.bundle_ref, "hello-world@latest");
  EXPECT_EQ(file.created_at, "2026-03-24T09:30:00.500Z");
  ASSERT_EQ(file.turns.size(), 1u);
  EXPECT_EQ(file.turns[0].history,
            (std::vector<model::Message>{
                {MessageKind::kUser, "create file", {}},
                {MessageKind::kToolUse, "", {{"c1", "Write", R"({"path":"a"})"}}},
                {MessageKind::kToolResult, "", {{"c1", "Write", R"({"bytes":3,"path":"a"})"}}},
                {MessageKind::kAssistant, "done", {}}}));
}

TEST(SessionFileTest, WritesWhatTheContractShows) {
  const SessionFile file = Decoded(Full());
  const std::string text = EncodeSessionFile(file);
  Json expected = Full();
  expected["created_at"] = "2026-03-24T09:30:00.500Z";
  expected["turns"][0]["created_at"] = "2026-03-24T09:31:00.000Z";
  EXPECT_EQ(Json::parse(text), expected);
  EXPECT_EQ(text.find("{\n  \"id\": "), 0u) << "pretty, in the order of the original";
  EXPECT_EQ(*DecodeSessionFile(text), file);
}

TEST(SessionFileTest, MissingMembersHaveTheOriginalsDefaults) {
  Json json = Full();
  json.erase("model_provider");
  json.erase("model_config");
  for (Json& message : json["turns"][0]["chat_history"]) {
    if (message["kind"] == "text") {
      message.erase("kind");
      message.erase("tool_calls");
    }
    if (message.contains("tool_calls")) message["tool_calls"][0].erase("call_type");
  }
  EXPECT_EQ(Decoded(json).model_provider, "openai");
  EXPECT_EQ(Decoded(json).turns, Decoded(Full()).turns);
}

TEST(SessionFileTest, PromptAndResponseAreTheHistoryWhereThereIsNone) {
  Json json = Full();
  json["turns"][0]["prompt"] = "other";
  json["turns"][0]["response"] = "other";
  EXPECT_EQ(Decoded(json).turns, Decoded(Full()).turns) << "the history is what was said";
  json["turns"][0]["chat_history"] = Json::array();
  EXPECT_EQ(Decoded(json).turns[0].history,
            (std::vector<model::Message>{{MessageKind::kUser, "other", {}},
                                         {MessageKind::kAssistant, "other", {}}}));
  json["turns"][0].erase("chat_history");
  json["turns"][0]["response"] = nullptr;
  EXPECT_EQ(Decoded(json).turns[0].history,
            (std::vector<model::Message>{{MessageKind::kUser, "other", {}}}));
}

TEST(SessionFileTest, CallsWithoutResultsAndResultsWithoutCallsAreLeftOut) {
  const auto call = [](const char* id) {
    return Json{{"id", id}, {"name", "Read"}, {"arguments", "{}"}};
  };
  const auto use = [&](std::initializer_list<const char*> ids, const char* text) {
    Json calls = Json::array();
    for (const char* id : ids) calls.push_back(call(id));
    return Json{
        {"role", "assistant"}, {"kind", "tool_use"}, {"content", text}, {"tool_calls", calls}};
  };
  const auto result = [&](std::initializer_list<const char*> ids) {
    Json out = use(ids, "");
    out["role"] = "tool";
    out["kind"] = "tool_result";
    return out;
  };
  Json json = Full();
  json["turns"][0]["chat_history"] = {{{"role", "user"}, {"content", "go"}},
                                      result({"early"}),
                                      use({"a", "b", "lost"}, "I look."),
                                      result({"b", "a", "stray"}),
                                      result({"a"}),
                                      use({"early"}, ""),
                                      use({"cut"}, "And then")};
  const std::vector<model::Message> history = Decoded(json).turns[0].history;
  ASSERT_EQ(history.size(), 5u);
  EXPECT_EQ(history[1].tools.size(), 2u);
  EXPECT_EQ(history[2].tools[0].id, "b") << "a message with two results becomes two";
  EXPECT_EQ(history[3].tools[0].id, "a");
  EXPECT_EQ(history[4], (model::Message{MessageKind::kAssistant, "And then", {}}));
}

TEST(SessionFileTest, RefusalsNameTheMember) {
  struct Case {
    const char* pointer;
    Json value;
    const char* words;
  };
  for (const auto& [pointer, value, words] : std::vector<Case>{
           {"/id", "x", "id: \"x\" is not a UUID"},
           {"/id", 7, "id: must be a string"},
           {"/bundle_ref", "", "bundle_ref: cannot be empty"},
           {"/agent_id", nullptr, "agent_id: is missing"},
           {"/created_at", "today", "created_at: \"today\" is not a time"},
           {"/turns", nullptr, "turns: is missing"},
           {"/turns", Json::object(), "turns: must be an array"},
           {"/turns/0", 7, "turns[0]: must be an object"},
           {"/turns/0/turn_id", "../x", "turns[0].turn_id: \"../x\" is not a UUID"},
           {"/turns/0/chat_history/0/role", "assistant",
            "turns[0].chat_history[0].role: the first"},
           {"/turns/0/chat_history/0/role", "system", "turns[0].chat_history[0].role: \"system\""},
           {"/turns/0/chat_history/0/kind", "image", "with kind \"image\""},
           {"/turns/0/chat_history/0/content", nullptr,
            "turns[0].chat_history[0].content: is missing"},
           {"/turns/0/chat_history/1/tool_calls", Json::array(),
            "turns[0].chat_history[1].tool_calls: is missing or empty"},
           {"/turns/0/chat_history/1/tool_calls/0/call_type", "x",
            "call_type: \"x\"; allowed is \"function\""},
           {"/turns/0/chat_history/1/tool_calls/0/id", "", "tool_calls[0].id: cannot be empty"},
           {"/turns/0/chat_history", Json::array(),
            "turns[0].chat_history: is empty, and no prompt"},
           {"/surprise", 1, "surprise: unknown member"},
           {"/turns/0/surprise", 1, "turns[0].surprise: unknown member"},
           {"/sandbox",
            {{"mode", "danger_full_access"}},
            "sandbox: a session has no policy of its own"}}) {
    Json json = Full();
    json[Json::json_pointer(pointer)] = value;
    const Status status = DecodeSessionFile(json.dump()).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << pointer;
    EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
  }
  Json twice = Full();
  twice["turns"].push_back(twice["turns"][0]);
  EXPECT_NE(DecodeSessionFile(twice.dump()).status().message().find("comes twice"),
            std::string::npos);
}

TEST(SessionFileTest, BytesThatAreNoFileAreRefused) {
  const std::string deep(100, '[');
  std::string many = "[0";
  for (size_t i = 0; i < kMaxValues; ++i) many += ",0";
  std::string invalid = kFull;
  invalid.replace(invalid.find("create"), 1, "\xff");
  const std::string repeated = R"({"id": "a", "id": "b"})";
  for (const auto& [text, words] : std::vector<std::pair<std::string, const char*>>{
           {"", "parse error"},
           {std::string(kFull, 200), "parse error"},
           {kFull + std::string("x"), "parse error"},
           {invalid, "UTF-8"},
           {deep, "nested deeper than 32"},
           {many + "]", "more than 2000000 JSON values"},
           {repeated, "member \"id\" comes twice"},
           {std::string(kMaxFileBytes + 1, ' '), "larger than 67108864 bytes"},
           {"[]", "must be an object"}}) {
    const Status status = DecodeSessionFile(text).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << words;
    EXPECT_NE(status.message().find(words), std::string::npos) << status.message();
  }
}

TEST(SessionFileTest, IdsAndUuidsHaveTheSameDigits) {
  const std::string uuid = "0f8fad5b-d9cb-469f-a165-70867728950e";
  EXPECT_EQ(IdOf("ses", uuid), "ses_0f8fad5bd9cb469fa16570867728950e");
  EXPECT_EQ(UuidOf(IdOf("trn", uuid)), uuid);
  EXPECT_TRUE(IsSessionFileName(uuid + ".json"));
  for (const char* name : {"ses_0f8fad5bd9cb469fa16570867728950e.json", "x.json",
                           "0f8fad5b-d9cb-469f-a165-70867728950e.json.corrupt-1",
                           "0f8fad5bxd9cb-469f-a165-70867728950e.json"}) {
    EXPECT_FALSE(IsSessionFileName(name)) << name;
  }
}

}  // namespace
}  // namespace odyssey::session_file
