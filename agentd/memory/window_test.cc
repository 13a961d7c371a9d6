#include "agentd/memory/window.h"

#include <gtest/gtest.h>

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
    const std::vector<Message> window = Window(history, c.max);
    ASSERT_EQ(window.size(), c.kept) << c.history << " max " << c.max;
    EXPECT_TRUE(
        std::equal(window.begin(), window.end(), history.end() - static_cast<long>(c.kept)));
    EXPECT_TRUE(window.empty() || window.front().kind == MessageKind::kUser);
  }
}

TEST(WindowTest, NeverBeginsWithAnOrphanedResult) {
  const std::vector<Message> history = History("uacrucrcraucra");
  for (size_t max = 1; max <= history.size(); ++max) {
    EXPECT_EQ(Window(history, max).front().kind, MessageKind::kUser) << max;
  }
}

}  // namespace
}  // namespace odyssey::memory
