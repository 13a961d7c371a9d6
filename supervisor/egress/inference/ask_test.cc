#include "supervisor/egress/inference/ask.h"

#include <gtest/gtest.h>

namespace odyssey::egress::inference {
namespace {

int StatusOf(std::string_view method, std::string_view path) {
  const auto read = ReadTarget(method, path);
  const auto* refusal = std::get_if<AskRefusal>(&read);
  return refusal == nullptr ? 0 : refusal->status;
}

Ask TargetOf(std::string_view method, std::string_view path) {
  return std::get<Ask>(ReadTarget(method, path));
}

TEST(AskTest, KnowsThePathsOfThreeProtocols) {
  for (const char* path :
       {"/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/embeddings",
        "/v1/messages", "/v1/messages/count_tokens", "/v1beta/models/gemini-2.5:generateContent",
        "/v1beta/models/m:streamGenerateContent", "/v1beta/models/m:countTokens",
        "/v1beta/models/m:embedContent"}) {
    EXPECT_EQ(StatusOf("POST", path), 0) << path;
    EXPECT_EQ(StatusOf("GET", path), 405) << path;
  }
  for (const char* path : {"/v1/models", "/v1beta/models"}) {
    EXPECT_EQ(StatusOf("GET", path), 0) << path;
    EXPECT_EQ(StatusOf("POST", path), 405) << path;
    EXPECT_EQ(StatusOf("HEAD", path), 405) << path;
  }
}

TEST(AskTest, RefusesOtherPaths) {
  for (const char* path : {"/", "/admin", "/v1", "/v1/chat", "/v1/chat/completions/", "/v1/files",
                           "/v1/Messages", "/v1beta/models/m", "/v1beta/models/m:delete",
                           "/v1beta/tunedModels/m:generateContent", "/v1/models/m"}) {
    EXPECT_EQ(StatusOf("POST", path), 403) << path;
  }
}

TEST(AskTest, AModelInAPathIsOneSegment) {
  EXPECT_EQ(TargetOf("POST", "/v1beta/models/gemini-2.5-pro:generateContent").model,
            "gemini-2.5-pro");
  EXPECT_TRUE(TargetOf("POST", "/v1beta/models/m:streamGenerateContent").stream);
  for (const char* path :
       {"/v1beta/models/a/b:generateContent", "/v1beta/models/:generateContent",
        "/v1beta/models/a b:generateContent", "/v1beta/models/a%2Fb:generateContent",
        "/v1beta/models/a:b:generateContent"}) {
    EXPECT_EQ(StatusOf("POST", path), 400) << path;
  }
}

TEST(AskTest, ReadsModelAndStream) {
  Ask ask = TargetOf("POST", "/v1/chat/completions");
  ASSERT_FALSE(ReadBody(R"( {"messages": [{"model": "inner"}], "stream" : true,
                             "mod\u0065l": "org/name-1"} )",
                        &ask));
  EXPECT_EQ(ask.model, "org/name-1");
  EXPECT_TRUE(ask.stream);
  EXPECT_FALSE(ask.asks_for_usage);
  ASSERT_FALSE(ReadBody(R"({"model":"m","stream":true,
                            "stream_options":{"include_usage":true}})",
                        &ask));
  EXPECT_TRUE(ask.asks_for_usage);
}

TEST(AskTest, WhatIsNoJsonObjectWithAModelIsMalformed) {
  for (const char* body :
       {"", "model=m", "[]", "{}", R"({"model":1})", R"({"model":""})", R"({"model":"a b"})",
        R"({"model":"m"} x)", R"({"model":"a","model":"b"})", R"({"model":"a","Model":"b"})",
        R"({"model":"a","mode)"
        "\xC5\x82"
        R"(":1,"STREAM":true})",
        R"({"model":"a","models":["b"]})"}) {
    Ask ask = TargetOf("POST", "/v1/messages");
    const auto refusal = ReadBody(body, &ask);
    ASSERT_TRUE(refusal) << body;
    EXPECT_EQ(refusal->status, 400) << body;
    EXPECT_EQ(refusal->code, "malformed_request") << body;
  }
}

}  // namespace
}  // namespace odyssey::egress::inference
