#include "agentd/base/clock.h"

#include <gtest/gtest.h>

namespace odyssey::agent {
namespace {

using std::chrono::milliseconds;
using std::chrono::system_clock;

TEST(FormatTimeTest, WritesUtcWithMilliseconds) {
  EXPECT_EQ(FormatTime(system_clock::time_point(milliseconds(1774344600125))),
            "2026-03-24T09:30:00.125Z");
  EXPECT_EQ(FormatTime(system_clock::time_point(milliseconds(0))), "1970-01-01T00:00:00.000Z");
}

TEST(FormatTimeTest, RoundsDownBeforeTheEpoch) {
  EXPECT_EQ(FormatTime(system_clock::time_point(milliseconds(-1))), "1969-12-31T23:59:59.999Z");
}

}  // namespace
}  // namespace odyssey::agent
