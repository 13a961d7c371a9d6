#include "supervisor/egress/h2/flood.h"

#include <gtest/gtest.h>

namespace odyssey::egress::h2 {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(AllowanceTest, IsUsedUpAndComesBackWithTime) {
  const Allowance::Time start{seconds(1000)};
  Allowance allowance(3, 2);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(allowance.Take(start));
  EXPECT_FALSE(allowance.Take(start));
  EXPECT_FALSE(allowance.Take(start + milliseconds(400)));
  EXPECT_TRUE(allowance.Take(start + milliseconds(600)));
  EXPECT_FALSE(allowance.Take(start + milliseconds(600)));
}

TEST(AllowanceTest, NeverHoldsMoreThanItsBurst) {
  const Allowance::Time start{seconds(1000)};
  Allowance allowance(2, 1);
  allowance.Give(100);
  EXPECT_TRUE(allowance.Take(start + seconds(1000)));
  EXPECT_TRUE(allowance.Take(start + seconds(1000)));
  EXPECT_FALSE(allowance.Take(start + seconds(1000)));
}

TEST(FloodGuardTest, DataThatIsSentPaysForWindowUpdates) {
  const FloodGuard::Time now{seconds(1000)};
  FloodGuard guard;
  int taken = 0;
  while (guard.TakeWindowUpdate(now)) ++taken;
  EXPECT_EQ(taken, 2000);
  guard.SentData();
  EXPECT_TRUE(guard.TakeWindowUpdate(now));
}

}  // namespace
}  // namespace odyssey::egress::h2
