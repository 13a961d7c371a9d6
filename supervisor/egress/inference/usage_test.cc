#include "supervisor/egress/inference/usage.h"

#include <gtest/gtest.h>

namespace odyssey::egress::inference {
namespace {

struct Passed {
  std::string out;
  std::optional<Usage> usage;
};

Passed Pass(AnswerForm form, std::string_view bytes, bool hides = false, size_t piece = 1) {
  UsageReader reader(form, hides);
  Passed passed;
  for (size_t at = 0; at < bytes.size(); at += piece) {
    reader.Push(bytes.substr(at, piece), &passed.out);
  }
  reader.Finish(&passed.out);
  passed.usage = reader.usage();
  return passed;
}

std::string WholeUsage(std::string_view text) {
  const Passed passed = Pass(AnswerForm::kWhole, text);
  EXPECT_EQ(passed.out, text);
  if (!passed.usage) return "none";
  return std::to_string(passed.usage->tokens_in) + " " + std::to_string(passed.usage->tokens_out);
}

TEST(UsageTest, OfAnswersInJson) {
  EXPECT_EQ(WholeUsage(R"({"usage":{"prompt_tokens":7,"completion_tokens":5,"total_tokens":12,
                           "prompt_tokens_details":{"cached_tokens":3}}})"),
            "7 5");
  EXPECT_EQ(WholeUsage(R"({"data":[[0.1]],"usage":{"prompt_tokens":7,"total_tokens":7}})"), "7 0");
  EXPECT_EQ(WholeUsage(R"({"usage":{"input_tokens":7,"cache_creation_input_tokens":10,
                           "cache_read_input_tokens":100,"output_tokens":5}})"),
            "117 5");
  EXPECT_EQ(WholeUsage(R"({"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":5,
                           "thoughtsTokenCount":20,"totalTokenCount":32}})"),
            "7 25");
  EXPECT_EQ(WholeUsage(R"([{"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":1}},
                           {"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":5}}])"),
            "7 5");
}

TEST(UsageTest, WhatAModelWroteIsNoUsage) {
  EXPECT_EQ(WholeUsage(R"({"content":[{"input":{"usage":{"input_tokens":1,"output_tokens":1}}}]})"),
            "none");
  EXPECT_EQ(WholeUsage(R"({"usage":[{"input_tokens":1}],"a":{"usage":{"input_tokens":1}}})"),
            "none");
  EXPECT_EQ(WholeUsage(R"({"usage":{"prompt_tokens":-1,"completion_tokens":1.5}})"), "none");
  EXPECT_EQ(WholeUsage("not json"), "none");
  EXPECT_EQ(WholeUsage(std::string(100000, '[')), "none");
}

TEST(UsageTest, NumbersAreBounded) {
  EXPECT_EQ(WholeUsage(R"({"usage":{"prompt_tokens":18446744073709551615}})"),
            std::to_string(kMaxTokens) + " 0");
}

TEST(UsageTest, OfStreamsHoweverTheyAreCut) {
  const std::string chat =
      "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}],\"usage\":null}\n\n"
      "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":5}}\n\n"
      "data: [DONE]\n\n";
  const std::string messages =
      "event: message_start\r\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":"
      "{\"input_tokens\":7,\"output_tokens\":1}}}\r\n\r\n: ping\r\n\r\n"
      "event: message_delta\r\ndata: {\"usage\":{\"output_tokens\":5}}\r\n\r\n";
  const std::string responses =
      "event: response.completed\rdata: {\"response\":{\"usage\":\rdata: {\"input_tokens\":7,"
      "\"output_tokens\":5}}}\r\r";
  for (const std::string& stream : {chat, messages, responses}) {
    for (const size_t piece : {1, 7, 100000}) {
      for (const bool hides : {false, true}) {
        const Passed passed = Pass(AnswerForm::kEvents, stream, hides, piece);
        EXPECT_EQ(passed.usage, (Usage{7, 5})) << stream;
        if (!hides || stream != chat) {
          EXPECT_EQ(passed.out, stream) << piece;
        }
      }
    }
  }
}

TEST(UsageTest, TheEventThatWasNotAskedForIsLeftOut) {
  for (const std::string& end : {std::string("\n"), std::string("\r\n"), std::string("\r")}) {
    const std::string first = "data: {\"choices\":[{\"delta\":{}}],\"usage\":null}" + end + end;
    const std::string usage =
        "data: {\"choices\": [ ],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":5}}" + end +
        end;
    const std::string last = "data: [DONE]" + end + end;
    for (const size_t piece : {1, 9, 100000}) {
      const Passed passed = Pass(AnswerForm::kEvents, first + usage + last, true, piece);
      EXPECT_EQ(passed.out, first + last) << piece;
      EXPECT_EQ(passed.usage, (Usage{7, 5}));
    }
  }
  const std::string with_choices =
      "data: {\"choices\":[1],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":5}}\n\n";
  EXPECT_EQ(Pass(AnswerForm::kEvents, with_choices, true).out, with_choices);
}

TEST(UsageTest, AnEventIsPassedOnWithItsLastByte) {
  UsageReader reader(AnswerForm::kEvents, true);
  std::string out;
  reader.Push("data: {}\r\n\r\n", &out);
  EXPECT_EQ(out, "data: {}\r\n\r\n");
  reader.Push("data: {", &out);
  EXPECT_EQ(out, "data: {}\r\n\r\n");
}

TEST(UsageTest, WhatIsTooLongPassesUnread) {
  const std::string event = "data: {\"x\":\"" + std::string(kMaxEventBytes, 'x') +
                            "\",\"usage\":{\"prompt_tokens\":1}}\n\n";
  const std::string stream = event + "data: {\"usage\":{\"prompt_tokens\":2}}\n\n";
  for (const bool hides : {false, true}) {
    const Passed passed = Pass(AnswerForm::kEvents, stream, hides, 65536);
    EXPECT_EQ(passed.out, stream);
    EXPECT_EQ(passed.usage, (Usage{2, 0}));
  }
  std::string out;
  UsageReader whole(AnswerForm::kWhole, false);
  const std::string megabyte(1 << 20, ' ');
  for (int i = 0; i < 9; ++i) whole.Push(megabyte, &out);
  whole.Push(R"({"usage":{"prompt_tokens":1}})", &out);
  whole.Finish(&out);
  EXPECT_FALSE(whole.usage());
}

TEST(UsageTest, CostsAreRoundedUp) {
  EXPECT_EQ(CostOf({.input = 150'000, .output = 600'000}, {10, 1}), 3U);  // 1.5 and 0.6
  EXPECT_EQ(CostOf({}, {10, 1}), 0U);
  EXPECT_EQ(CostOf({.input = UINT64_MAX, .output = UINT64_MAX}, {kMaxTokens, kMaxTokens}),
            uint64_t{1'000'000'000'000'000'000});
}

}  // namespace
}  // namespace odyssey::egress::inference
