#include "supervisor/rpc/pool_demand.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace odyssey::supervisor {
namespace {

using std::chrono::milliseconds;

constexpr auto kMakeTime = milliseconds(20);
const PoolOptions kOptions{.cells = 4, .idle = std::chrono::seconds(60)};

TEST(PoolDemandTest, SaysHowManyAreWorthMaking) {
  struct Case {
    std::string what;
    std::vector<int> asked_ms;
    int now_ms;
    size_t ahead;
  };
  const Case cases[] = {
      {"nothing was asked for", {}, 0, 0},
      {"once", {0}, 1, 0},
      {"again", {0, 30'000}, 30'001, 1},
      {"again, and then long ago", {0, 30'000}, 90'000, 0},
      {"again, but the first time no longer counts", {0, 61'000}, 61'001, 0},
      {"twice at once: that may be all", {0, 0}, 0, 1},
      {"four times, slowly", {0, 1000, 2000, 3000}, 3001, 1},
      {"as fast as one is made", {0, 20, 40, 60}, 60, 2},
      {"twice as fast", {0, 10, 20, 30}, 30, 3},
      {"faster than all that there may be", {0, 1, 2, 3}, 3, 4},
      {"all at once", {0, 0, 0, 0}, 0, 4},
      {"fast, and then not for a second", {0, 10, 20, 30}, 1030, 1},
      {"slowly, and then fast", {0, 10'000, 20'000, 20'010, 20'020, 20'030}, 20'030, 3},
      {"fast, and then slowly", {0, 10, 20, 30, 10'000, 20'000, 30'000}, 30'000, 1},
  };
  for (const Case& one : cases) {
    const Clock::time_point start{};
    PoolDemand demand;
    for (const int ms : one.asked_ms) demand.OnAsked(start + milliseconds(ms));
    EXPECT_EQ(demand.CellsAhead(start + milliseconds(one.now_ms), kMakeTime, kOptions), one.ahead)
        << one.what;
  }
}

TEST(PoolDemandTest, NeverMoreThanTheOperatorHasSaid) {
  const Clock::time_point start{};
  PoolDemand demand;
  for (int i = 0; i < 8; ++i) demand.OnAsked(start);
  for (const size_t cells : {0, 1, 3}) {
    EXPECT_EQ(demand.CellsAhead(start, kMakeTime, {.cells = cells}), cells);
  }
}

TEST(PoolDemandTest, DisplacesWhatWasNotAskedForBetweenItsLastTwoTimes) {
  struct Case {
    std::vector<int> asked_ms, other_ms;
    bool displaces;
  };
  const Case cases[] = {{{}, {}, false},      {{5}, {}, false},       {{5, 6}, {}, true},
                        {{5}, {1, 2}, false}, {{5, 6}, {1, 2}, true}, {{5, 7}, {1, 6}, false},
                        {{5, 6}, {7}, false}, {{1, 5, 6}, {2}, true}};
  for (const Case& one : cases) {
    PoolDemand demand, other;
    for (const int ms : one.asked_ms) demand.OnAsked(Clock::time_point{} + milliseconds(ms));
    for (const int ms : one.other_ms) other.OnAsked(Clock::time_point{} + milliseconds(ms));
    EXPECT_EQ(demand.Displaces(other), one.displaces)
        << ::testing::PrintToString(one.asked_ms) << " and "
        << ::testing::PrintToString(one.other_ms);
  }
}

TEST(PoolDemandTest, IsOverWhenNothingWasAskedForInTheIdleTime) {
  const Clock::time_point start{};
  PoolDemand demand;
  EXPECT_TRUE(demand.Over(start, kOptions));
  demand.OnAsked(start);
  EXPECT_FALSE(demand.Over(start + milliseconds(59'999), kOptions));
  EXPECT_TRUE(demand.Over(start + milliseconds(60'000), kOptions));
}

TEST(MemoryIsShortTest, IsWhenLessThanASixteenthIsAvailable) {
  const auto meminfo = [](int available) {
    return "MemTotal:       16000 kB\nMemFree:           10 kB\nMemAvailable:   " +
           std::to_string(available) + " kB\nBuffers:  1 kB\n";
  };
  EXPECT_FALSE(MemoryIsShort(meminfo(8000)));
  EXPECT_FALSE(MemoryIsShort(meminfo(1000)));
  EXPECT_TRUE(MemoryIsShort(meminfo(999)));
  for (const char* odd : {"", "MemTotal: 5 kB\n", "MemAvailable: 0 kB\n", "MemTotal:"}) {
    EXPECT_FALSE(MemoryIsShort(odd)) << odd;
  }
}

}  // namespace
}  // namespace odyssey::supervisor
