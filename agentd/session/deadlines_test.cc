#include "agentd/session/deadlines.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <vector>

namespace odyssey::session {
namespace {

using std::chrono::milliseconds;

TEST(DeadlinesTest, TheNextOneIsFirstAndARemovedOneNever) {
  std::vector<std::string> due;
  std::promise<void> last;
  Deadlines deadlines([&](const std::string& id) {
    due.push_back(id);
    if (id == "late") last.set_value();
  });
  deadlines.Add("late", milliseconds(120));
  deadlines.Add("removed", milliseconds(40));
  deadlines.Add("early", milliseconds(20));
  deadlines.Remove("removed");
  deadlines.Remove("unknown");
  last.get_future().wait();
  EXPECT_EQ(due, (std::vector<std::string>{"early", "late"}));
}

TEST(DeadlinesTest, NothingIsDueAfterStop) {
  std::atomic<bool> due = false;
  Deadlines deadlines([&](const std::string&) { due = true; });
  deadlines.Add("a", milliseconds(30));
  deadlines.Stop();
  deadlines.Add("b", milliseconds(0));
  std::this_thread::sleep_for(milliseconds(60));
  EXPECT_FALSE(due);
}

}  // namespace
}  // namespace odyssey::session
