#include "supervisor/egress/limits/limits.h"

#include <gtest/gtest.h>

#include <set>

namespace odyssey::egress {
namespace {

TEST(LimitsTest, AreSetByName) {
  Limits limits;
  ASSERT_TRUE(SetLimit("tunnel-idle=7", &limits).ok());
  Limits expected;
  expected.tunnel_idle = 7;
  EXPECT_EQ(limits, expected);
}

TEST(LimitsTest, ATextOfEachReadsAsTheSame) {
  Limits limits;
  const std::vector<std::string> names = ToText(limits);
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string name = names[i].substr(0, names[i].find('='));
    ASSERT_TRUE(SetLimit(name + "=" + std::to_string(100 + i), &limits).ok());
  }
  Limits back;
  for (const std::string& text : ToText(limits)) ASSERT_TRUE(SetLimit(text, &back).ok()) << text;
  EXPECT_EQ(back, limits);
  const std::vector<std::string> all = ToText(back);
  EXPECT_EQ(std::set<std::string>(all.begin(), all.end()).size(), names.size());
}

TEST(LimitsTest, RefusesWhatIsNone) {
  Limits limits;
  for (const char* text : {"", "=", "head", "head=", "head=0", "head=-1", "head=+1", "head=1x",
                           "head= 1", "head=1000001", "head=99999999999", "heads=1"}) {
    EXPECT_EQ(SetLimit(text, &limits).code(), Code::kInvalidArgument) << text;
  }
  EXPECT_EQ(limits, Limits());
}

}  // namespace
}  // namespace odyssey::egress
