#include "policy/plan/landlock_rights.h"

#include <errno.h>
#include <linux/landlock.h>

#include <gtest/gtest.h>

namespace odyssey::landlock {
namespace {

TEST(LandlockRightsTest, HandlesWhatEachVersionHasAndNoMore) {
  struct Case {
    uint32_t abi;
    uint64_t rights, scopes;
  };
  // By bit, as the kernel numbers them: refer is 13, truncate 14, ioctl_dev 15.
  constexpr Case kCases[] = {{0, 0, 0},      {1, 0x1fff, 0}, {2, 0x3fff, 0}, {3, 0x7fff, 0},
                             {4, 0x7fff, 0}, {5, 0xffff, 0}, {6, 0xffff, 3}, {7, 0xffff, 3}};
  for (const Case& c : kCases) {
    EXPECT_EQ(HandledFileRights(c.abi), c.rights) << c.abi;
    EXPECT_EQ(HandledScopes(c.abi, /*own_network=*/false), c.scopes) << c.abi;
    EXPECT_EQ(HandledScopes(c.abi, /*own_network=*/true), c.scopes & 2) << c.abi;
  }
  EXPECT_EQ(LANDLOCK_ACCESS_FS_MAKE_SYM, 1ULL << 12);
  EXPECT_EQ(LANDLOCK_ACCESS_FS_REFER, 1ULL << 13);
}

TEST(LandlockRightsTest, TellsApartWhyThereIsNone) {
  EXPECT_EQ(SupportFrom(6, 0).abi, 6u);
  EXPECT_EQ(SupportFrom(6, 0).probe, Probe::kInForce);
  EXPECT_EQ(SupportFrom(-1, EOPNOTSUPP).probe, Probe::kSwitchedOff);
  EXPECT_EQ(SupportFrom(-1, ENOSYS).probe, Probe::kNotBuilt);
  EXPECT_EQ(SupportFrom(-1, EPERM).probe, Probe::kNotBuilt);
  EXPECT_EQ(SupportFrom(-1, ENOSYS).abi, 0u);
  EXPECT_NE(DescribeSupport(SupportFrom(-1, EOPNOTSUPP)).find("lsm="), std::string::npos);
  EXPECT_EQ(DescribeSupport(SupportFrom(3, 0)), "ABI 3");
}

}  // namespace
}  // namespace odyssey::landlock
