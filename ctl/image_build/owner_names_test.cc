#include "ctl/image_build/owner_names.h"

#include <gtest/gtest.h>

namespace odyssey::ctl {
namespace {

constexpr char kPasswd[] =
    "root:x:0:0:root:/root:/bin/sh\n:x:5:5::/none:\nme:x:7:8::/home/me:\n+\n";
constexpr char kGroup[] = "us:x:9:me\n";

TEST(OwnerNamesTest, NamesAndNumbers) {
  using Ids = std::pair<uint32_t, uint32_t>;
  EXPECT_EQ(*ResolveOwner("me", kPasswd, kGroup), Ids(7, 7));
  EXPECT_EQ(*ResolveOwner("me:us", kPasswd, kGroup), Ids(7, 9));
  EXPECT_EQ(*ResolveOwner("12:us", kPasswd, kGroup), Ids(12, 9));
  EXPECT_EQ(*ResolveOwner("12:13", "", ""), Ids(12, 13));
  EXPECT_EQ(ResolveOwner("me:none", kPasswd, kGroup).status().message(),
            "group none: the image's /etc/group has none");
  EXPECT_EQ(ResolveOwner("70000", "", "").status().message(), "user 70000: allowed: 0 to 65535");
  EXPECT_FALSE(ResolveOwner("", kPasswd, kGroup).ok());
  EXPECT_FALSE(HasOwnerNames("1"));
  EXPECT_FALSE(HasOwnerNames("1:2"));
  EXPECT_TRUE(HasOwnerNames("1:us"));
  EXPECT_TRUE(HasOwnerNames("me"));
}

TEST(OwnerNamesTest, Homes) {
  EXPECT_EQ(HomeOf("0", kPasswd), "/root");
  EXPECT_EQ(HomeOf("me:us", kPasswd), "/home/me");
  EXPECT_EQ(HomeOf("7", kPasswd), "/home/me");
  EXPECT_EQ(HomeOf("8", kPasswd), "/");
  EXPECT_EQ(HomeOf("0", ""), "/");
}

}  // namespace
}  // namespace odyssey::ctl
