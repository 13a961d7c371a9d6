#include "agentd/memory/tokens.h"

#include <gtest/gtest.h>

#include <string>

namespace odyssey::memory {
namespace {

struct Case {
  std::string text;
  uint64_t at_least;  // more than tokenizers of today make of it
};

TEST(TokensTest, ErrHighForEveryKindOfText) {
  for (const Case& c : std::vector<Case>{
           {"", 0},
           {"The quick brown fox jumps over the lazy dog.", 10},
           {R"({"path":"src/main.cc","offset":120})", 14},
           {"你好，世界。今天天气很好。", 13},  // a token for each character
           {"こんにちは世界", 7},
           {"Привет, мир", 6},
           {"🙂🙂🙂", 6},
           {"0123456789", 4},
           {std::string(400, 'x'), 200},  // base64 and the like
       }) {
    EXPECT_GE(EstimateTokens(c.text), c.at_least) << c.text;
    EXPECT_LE(EstimateTokens(c.text), c.text.size()) << c.text << ": a token has a byte";
  }
}

TEST(TokensTest, CountWhatARequestSends) {
  model::ModelRequest request;
  const uint64_t empty = EstimateTokens(request);
  EXPECT_EQ(empty, 0u);
  request.system = "be brief";
  request.earlier = "a summary";
  request.messages = {{model::MessageKind::kUser, "hi", {}}};
  const uint64_t without = EstimateTokens(request);
  EXPECT_EQ(without, EstimateTokens("be brief") + EstimateTokens("a summary") + kTokensOfEnvelope +
                         EstimateTokens("hi"));
  request.tools = {{"Read", "Read a file", "{}"}};
  EXPECT_GT(EstimateTokens(request), without + kTokensOfEnvelope);
  // Signed reasoning goes back in its own turn only.
  request.messages.push_back({model::MessageKind::kAssistant, "a", {}, "signed"});
  const uint64_t replayed = EstimateTokens(request);
  request.messages.back().replay.clear();
  EXPECT_EQ(replayed, EstimateTokens(request) + EstimateTokens("signed"));
}

TEST(TokensTest, ReportsCorrectTheEstimateWithinBounds) {
  EXPECT_EQ(TokenScale().Correct(100), 100u);
  EXPECT_EQ(TokenScale(50, 100).Correct(101), 51u) << "rounds up";
  EXPECT_EQ(TokenScale(150, 100).Correct(100), 150u);
  EXPECT_EQ(TokenScale(0, 100).Correct(100), 100u) << "nothing was reported";
  EXPECT_EQ(TokenScale(1, 1'000'000).Correct(100), 25u);
  EXPECT_EQ(TokenScale(UINT64_MAX, 1).Correct(100), 400u);
  EXPECT_EQ(TokenScale(uint32_t{700}).permille(), 700u);
}

}  // namespace
}  // namespace odyssey::memory
