#include "ctl/daemon/restart_policy.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace odyssey::ctl {
namespace {

TEST(RestartPolicyTest, WaitsLongerEachTimeAndGivesUp) {
  RestartPolicy policy;
  std::vector<uint32_t> delays;
  for (std::optional<uint32_t> delay = policy.OnDeath(0); delay; delay = policy.OnDeath(0)) {
    delays.push_back(*delay);
  }
  EXPECT_EQ(delays,
            (std::vector<uint32_t>{100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000, 5000}));
}

TEST(RestartPolicyTest, HealthyTimeForgivesEarlierDeaths) {
  RestartPolicy policy;
  for (uint32_t i = 0; i < RestartPolicy::kMaxFailures; ++i) ASSERT_TRUE(policy.OnDeath(0));
  EXPECT_EQ(policy.OnDeath(RestartPolicy::kHealthyMs), RestartPolicy::kFirstDelayMs);
}

}  // namespace
}  // namespace odyssey::ctl
