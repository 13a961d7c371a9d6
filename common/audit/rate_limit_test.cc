#include "common/audit/rate_limit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace odyssey::audit {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Suppressed = RateLimit::Suppressed;

Time At(int ms) { return Time(milliseconds(ms)); }

int Flood(RateLimit* limit, const RateLimit::Subject& subject, int records, Time now) {
  int written = 0;
  for (int i = 0; i < records; ++i) written += limit->Admit(subject, now) ? 1 : 0;
  return written;
}

TEST(RateLimitTest, StormIsCountedToTheLastRecord) {
  RateLimit limit;
  const RateLimit::Subject subject{"deny", "cel_1"};
  const int written = Flood(&limit, subject, 10'000, At(0));
  EXPECT_EQ(written, static_cast<int>(RateLimit::kPerInterval));
  EXPECT_THAT(limit.TakeEnded(At(999)), IsEmpty());
  EXPECT_THAT(limit.TakeEnded(At(1000)),
              ElementsAre(Suppressed{subject, 10'000 - RateLimit::kPerInterval}));
  EXPECT_THAT(limit.TakeEnded(At(5000)), IsEmpty()) << "told once";
}

TEST(RateLimitTest, NextIntervalWritesAgainAndKeepsTheCountOfTheLast) {
  RateLimit limit;
  const RateLimit::Subject subject{"deny", "cel_1"};
  Flood(&limit, subject, 100, At(0));
  EXPECT_TRUE(limit.Admit(subject, At(1500)));
  EXPECT_THAT(limit.TakeEnded(At(1500)),
              ElementsAre(Suppressed{subject, 100 - RateLimit::kPerInterval}));
}

TEST(RateLimitTest, OneSubjectDoesNotHideAnother) {
  RateLimit limit;
  Flood(&limit, {"deny", "cel_1"}, 100, At(0));
  EXPECT_TRUE(limit.Admit({"deny", "cel_2"}, At(0)));
  EXPECT_TRUE(limit.Admit({"refuse", "cel_1"}, At(0)));
}

TEST(RateLimitTest, SubjectsAreBoundedAndNoneIsLost) {
  RateLimit limit;
  uint64_t written = 0;
  constexpr int kSubjects = 10'000;
  for (int i = 0; i < kSubjects; ++i) {
    written += limit.Admit({"deny", std::to_string(i)}, At(0)) ? 1 : 0;
  }
  EXPECT_LE(written, RateLimit::kMaxSubjects + RateLimit::kPerInterval);
  uint64_t counted = 0;
  for (const Suppressed& suppressed : limit.TakeAll()) counted += suppressed.count;
  EXPECT_EQ(written + counted, static_cast<uint64_t>(kSubjects));
}

TEST(RateLimitTest, WhatIsOnlyCountedIsTold) {
  RateLimit limit;
  EXPECT_FALSE(limit.pending());
  limit.Count({"exec", "no_room"}, 3, At(0));
  limit.Count({"exec", "no_room"}, 4, At(10));
  EXPECT_TRUE(limit.pending());
  EXPECT_THAT(limit.TakeEnded(At(1000)), ElementsAre(Suppressed{{"exec", "no_room"}, 7}));
  EXPECT_FALSE(limit.pending());
}

// A clock that is set back must not silence the log until it catches up.
TEST(RateLimitTest, ClockSetBackBeginsAnInterval) {
  RateLimit limit;
  const RateLimit::Subject subject{"deny", "cel_1"};
  Flood(&limit, subject, 100, At(1'000'000));
  EXPECT_TRUE(limit.Admit(subject, At(0)));
}

}  // namespace
}  // namespace odyssey::audit
