#include "supervisor/rpc/event_loop.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace odyssey::supervisor {
namespace {

using When = EventLoop::When;

TEST(EventLoopTest, RunsWhatIsPostedInItsOrder) {
  EventLoop loop;
  std::string ran;
  loop.Post([&] { ran += "a"; });
  loop.Post([&] {
    ran += "b";
    loop.Post([&] {
      ran += "d";
      loop.Stop(OkStatus());
    });
  });
  loop.Post([&] { ran += "c"; });
  EXPECT_TRUE(loop.Run().ok());
  EXPECT_EQ(ran, "abcd");
}

TEST(EventLoopTest, CallsOfManyThreadsRunOneAtATime) {
  EventLoop loop;
  int sum = 0;  // without a lock
  std::thread runs([&] { EXPECT_EQ(loop.Run(), Cancelled("enough")); });
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) loop.Call([&] { return ++sum; });
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(loop.Call([&] { return sum; }), 2000);
  loop.Post([&] { loop.Stop(Cancelled("enough")); });
  runs.join();
}

TEST(EventLoopTest, AwaitReturnsWhatIsAnsweredLater) {
  EventLoop loop;
  std::thread runs([&] { (void)loop.Run(); });
  const int answer = loop.Await<int>([&](const Done<int>& done) {
    loop.At(Clock::now() + std::chrono::milliseconds(5), [done] { done(7); });
  });
  EXPECT_EQ(answer, 7);
  loop.Post([&] { loop.Stop(OkStatus()); });
  runs.join();
}

TEST(EventLoopTest, TimersRunByTheirTimeAndNotIfTheyAreCancelled) {
  EventLoop loop;
  std::string ran;
  const auto now = Clock::now();
  loop.At(now + std::chrono::milliseconds(4), [&] {
    ran += "c";
    loop.Stop(OkStatus());
  });
  const uint64_t cancelled = loop.At(now + std::chrono::milliseconds(3), [&] { ran += "x"; });
  loop.At(now + std::chrono::milliseconds(2), [&, cancelled] {
    ran += "b";
    loop.Cancel(cancelled);
    loop.Cancel(cancelled);
  });
  loop.At(now, [&] { ran += "a"; });
  EXPECT_EQ(loop.At(Clock::time_point::max(), [] {}), EventLoop::kNoTimer);
  loop.Cancel(EventLoop::kNoTimer);
  EXPECT_TRUE(loop.Run().ok());
  EXPECT_EQ(ran, "abc");
}

TEST(EventLoopTest, NoHandlerOfAForgottenGroupRuns) {
  EventLoop loop;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const UniqueFd out(ends[0]), in(ends[1]);
  const UniqueFd again(dup(ends[0]));
  ASSERT_EQ(write(in.get(), "x", 1), 1);
  const uint64_t group = loop.NewGroup();
  int ran = 0;
  const auto handler = [&] {
    ++ran;
    loop.Forget(group);  // both are readable, and one of them is first
    loop.Post([&] { loop.Stop(OkStatus()); });
  };
  loop.Watch(group, 0, out.get(), When::kReadable, handler);
  loop.Watch(group, 1, again.get(), When::kReadable, handler);
  EXPECT_TRUE(loop.Run().ok());
  EXPECT_EQ(ran, 1);
}

TEST(EventLoopTest, WatchingAgainReportsAnEdgeThatHasPassed) {
  EventLoop loop;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const UniqueFd out(ends[0]), in(ends[1]);
  ASSERT_EQ(write(in.get(), "x", 1), 1);
  const uint64_t group = loop.NewGroup();
  int ran = 0;
  std::function<void()> handler = [&] {
    if (++ran == 2) return loop.Stop(OkStatus());
    loop.Watch(group, 0, out.get(), When::kReadableEdge, handler);  // it has read nothing
  };
  loop.Watch(group, 0, out.get(), When::kReadableEdge, handler);
  EXPECT_TRUE(loop.Run().ok());
  EXPECT_EQ(ran, 2);
}

}  // namespace
}  // namespace odyssey::supervisor
