#include "agentd/memory/window.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

namespace odyssey::memory {
namespace {

using model::Message;
using model::MessageKind;

// One letter per message: u(ser), a(ssistant), c(all), r(esult).
std::vector<Message> History(const std::string& shape) {
  std::vector<Message> out;
  for (const char c : shape) {
    const MessageKind kind = c == 'u'   ? MessageKind::kUser
                             : c == 'a' ? MessageKind::kAssistant
                             : c == 'c' ? MessageKind::kToolUse
                                        : MessageKind::kToolResult;
    out.push_back({kind, std::to_string(out.size()), {}});
  }
  return out;
}

struct Case {
  const char* history;
  size_t max;
  size_t kept;  // messages from the end
};

TEST(WindowTest, CutsOnExchangesOnly) {
  for (const Case& c : std::vector<Case>{{"", 10, 0},
                                         {"ua", 10, 2},
                                         {"uaua", 4, 4},
                                         {"uaua", 3, 2},
                                         {"uaua", 2, 2},
                                         {"ucracra", 3, 7},
                                         {"uaucra", 5, 4},
                                         {"uaucraua", 6, 6},
                                         {"uaucraua", 5, 2},
                                         {"uaua", 0, 0}}) {
    const std::vector<Message> history = History(c.history);
    const std::vector<Message> window = Window(history, {c.max, 0, {}});
    ASSERT_EQ(window.size(), c.kept) << c.history << " max " << c.max;
    EXPECT_TRUE(
        std::equal(window.begin(), window.end(), history.end() - static_cast<long>(c.kept)));
    EXPECT_TRUE(window.empty() || window.front().kind == MessageKind::kUser);
  }
}

TEST(WindowTest, NeverBeginsWithAnOrphanedResult) {
  const std::vector<Message> history = History("uacrucrcraucra");
  for (size_t max = 1; max <= history.size(); ++max) {
    EXPECT_EQ(Window(history, {max, 0, {}}).front().kind, MessageKind::kUser) << max;
  }
}

// A history of turns with calls in parallel and results of many sizes, as a seed makes it.
std::vector<Message> RandomHistory(std::mt19937* random) {
  const auto below = [random](size_t n) { return static_cast<size_t>((*random)() % n); };
  std::vector<Message> out;
  for (size_t turn = below(12) + 1; turn > 0; --turn) {
    out.push_back({MessageKind::kUser, std::string(below(200), 'u'), {}});
    for (size_t round = below(4); round > 0; --round) {
      Message calls{MessageKind::kToolUse, "", {}};
      for (size_t i = below(3) + 1; i > 0; --i) {
        calls.tools.push_back({"c" + std::to_string((*random)()), "Bash", "{}"});
      }
      out.push_back(calls);
      for (const model::ToolUse& call : calls.tools) {
        out.push_back({MessageKind::kToolResult,
                       "",
                       {{call.id, call.name, std::string(below(5) * below(2000), 'r')}}});
      }
    }
    if (below(4) != 0) out.push_back({MessageKind::kAssistant, std::string(below(100), 'a'), {}});
  }
  return out;
}

// Every call has its result behind it, every result its call before it.
void ExpectPaired(const std::vector<Message>& window) {
  std::vector<std::string> open;
  for (const Message& message : window) {
    for (const model::ToolUse& tool : message.tools) {
      if (message.kind == MessageKind::kToolUse) {
        open.push_back(tool.id);
      } else {
        ASSERT_EQ(std::count(open.begin(), open.end(), tool.id), 1) << "an orphan";
        std::erase(open, tool.id);
      }
    }
  }
  EXPECT_TRUE(open.empty()) << "a call without its result";
}

TEST(WindowTest, NoCallIsCutFromItsResultAndTheBoundsHoldForAnyHistory) {
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    const std::vector<Message> history = RandomHistory(&random);
    WindowBounds bounds;
    bounds.messages = random() % 20 + 1;
    bounds.tokens = random() % 3 == 0 ? 0 : random() % 3000 + 100;
    bounds.scale = TokenScale(uint32_t{500} + random() % 1000);
    const std::vector<Message> window = Window(history, bounds);
    ASSERT_FALSE(window.empty());
    EXPECT_EQ(window.front().kind, MessageKind::kUser);
    ExpectPaired(window);
    const auto exchanges = std::count_if(window.begin(), window.end(), [](const Message& message) {
      return message.kind == MessageKind::kUser;
    });
    if (exchanges > 1) {
      EXPECT_LE(window.size(), bounds.messages);
      if (bounds.tokens != 0) {
        EXPECT_LE(bounds.scale.Correct(EstimateTokens(window)), bounds.tokens);
      }
    }
    // The end of the history, with all its messages.
    ASSERT_LE(window.size(), history.size());
    for (size_t k = 0; k < window.size(); ++k) {
      EXPECT_EQ(window[k].kind, history[history.size() - window.size() + k].kind);
      EXPECT_EQ(window[k].content, history[history.size() - window.size() + k].content);
    }
  }
}

TEST(WindowTest, LongResultsOfTheLatestExchangeAreShortenedWithANote) {
  std::vector<Message> history = History("uacra");
  history[3].tools = {{"c", "Bash", R"({"stdout":")" + std::string(100'000, 'x') + R"("})"}};
  WindowBounds bounds;
  bounds.messages = 10;
  bounds.tokens = 2000;
  const std::vector<Message> window = Window(history, bounds);
  ASSERT_EQ(window.size(), 5u);
  EXPECT_LE(EstimateTokens(window), 2000u);
  const std::string& result = window[3].tools[0].json;
  EXPECT_EQ(window[3].tools[0].id, "c");
  EXPECT_EQ(result.rfind(R"({"beginning":"{\"stdout\":\"xxx)", 0), 0u) << result;
  EXPECT_NE(result.find("of 100013 bytes are left out"), std::string::npos) << result;
  bounds.tokens = 1;
  EXPECT_GE(Window(history, bounds)[3].tools[0].json.size(), kShortestResultBytes);
}

}  // namespace
}  // namespace odyssey::memory
