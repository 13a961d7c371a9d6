#include "supervisor/egress/protocol/synthetic.h"

#include <gtest/gtest.h>

#include <set>

namespace odyssey::egress::protocol {
namespace {

using std::chrono::seconds;

constexpr seconds kTtl{30};
const SyntheticTable::Time kStart{};

std::string Name(size_t i) { return "host" + std::to_string(i) + ".example"; }

SyntheticTable Full() {
  SyntheticTable table(kTtl);
  for (size_t i = 0; i < kMaxSyntheticNames; ++i) EXPECT_TRUE(table.Use(Name(i), kStart));
  return table;
}

TEST(SyntheticTest, ANameKeepsItsAddress) {
  SyntheticTable table(kTtl);
  const auto a = table.Use("a.example", kStart);
  const auto b = table.Use("b.example", kStart);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(a->v4, (Ipv4{198, 18, 0, 1}));
  EXPECT_EQ(a->v6, (Ipv6{0xfd, 'o', 'd', 'y', 's', 's', 'e', 'y', 0, 0, 0, 0, 198, 18, 0, 1}));
  EXPECT_NE(a->v4, b->v4);
  EXPECT_EQ(table.Use("a.example", kStart + 1000 * kTtl), a);
  EXPECT_EQ(table.size(), 2U);
}

TEST(SyntheticTest, AnAddressLeadsToItsName) {
  SyntheticTable table(kTtl);
  const auto a = table.Use("a.example", kStart);
  EXPECT_EQ(table.Find(a->v4, kStart), "a.example");
  EXPECT_EQ(table.Find(a->v6, kStart), "a.example");
  for (const Ipv4& other : {Ipv4{198, 18, 0, 2}, Ipv4{198, 18, 0, 0}, Ipv4{198, 17, 255, 255},
                            Ipv4{198, 20, 0, 1}, Ipv4{0, 0, 0, 1}, Ipv4{127, 0, 0, 1}}) {
    EXPECT_EQ(table.Find(other, kStart), std::nullopt);
  }
  Ipv6 other = a->v6;
  other[7] ^= 1;
  EXPECT_EQ(table.Find(other, kStart), std::nullopt) << "of another network";
  other = a->v6;
  other[8] = 1;
  EXPECT_EQ(table.Find(other, kStart), std::nullopt);
}

TEST(SyntheticTest, AFullTableGivesUpTheNameThatWasNotUsedForLongest) {
  SyntheticTable table = Full();
  const auto unused = table.Use(Name(1), kStart);
  EXPECT_EQ(table.Use("new.example", kStart + kTtl), std::nullopt) << "all may still be cached";
  for (size_t i = 0; i < kMaxSyntheticNames; ++i) {
    if (i == 1) continue;
    ASSERT_TRUE(table.Use(Name(i), kStart + kTtl)) << "a known name";
  }
  const auto later = kStart + kTtl + seconds(1);
  const auto fresh = table.Use("new.example", later);
  ASSERT_TRUE(fresh);
  EXPECT_EQ(table.size(), kMaxSyntheticNames);
  EXPECT_EQ(table.Find(unused->v4, later), std::nullopt);
  EXPECT_EQ(table.Find(fresh->v4, later), "new.example");
  EXPECT_EQ(table.Use("newer.example", later), std::nullopt) << "the others were used since";
}

TEST(SyntheticTest, ALookUpIsAUse) {
  SyntheticTable table = Full();
  const auto first = table.Use(Name(0), kStart);
  const auto later = kStart + kTtl + seconds(1);
  EXPECT_EQ(table.Find(first->v6, later), Name(0));
  for (size_t i = 1; i < kMaxSyntheticNames; ++i) {
    ASSERT_TRUE(table.Use("new" + std::to_string(i), later)) << i;
  }
  EXPECT_EQ(table.Find(first->v4, later), Name(0));
  EXPECT_EQ(table.Use("one.more", later), std::nullopt);
}

TEST(SyntheticTest, AnAddressComesBackAfterAllOthers) {
  SyntheticTable table = Full();
  const auto kept = table.Use(Name(0), kStart);
  const Ipv4 given_up = table.Use(Name(1), kStart)->v4;
  constexpr size_t kAddresses = (1 << 17) - 2;
  size_t names = kMaxSyntheticNames;
  size_t turns = 0;
  for (auto now = kStart; table.Find(given_up, now) == std::nullopt || turns == 0; ++turns) {
    now += kTtl + seconds(1);
    ASSERT_EQ(table.Use(Name(0), now), kept);
    std::set<Ipv4> seen = {kept->v4};
    for (size_t i = 1; i < kMaxSyntheticNames; ++i) {
      const auto address = table.Use(Name(names++), now);
      ASSERT_TRUE(address);
      ASSERT_TRUE(seen.insert(address->v4).second);
      ASSERT_EQ(address->v4[0], 198);
      ASSERT_EQ(address->v4[1] & 0xfe, 18);
    }
    ASSERT_LE(names, 2 * kAddresses);
  }
  EXPECT_GE(turns, 126U);
}

}  // namespace
}  // namespace odyssey::egress::protocol
