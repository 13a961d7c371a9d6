#include "agentd/base/ids.h"

#include <gtest/gtest.h>

namespace odyssey::agent {
namespace {

TEST(IdsTest, NewIdsAreRecognisedAndDiffer) {
  RandomIds ids;
  const std::string a = ids.New("ses");
  EXPECT_TRUE(IsId("ses", a)) << a;
  EXPECT_NE(a, ids.New("ses"));
}

TEST(IdsTest, RefusesWhatCouldLeaveADirectory) {
  EXPECT_FALSE(IsId("ses", ""));
  EXPECT_FALSE(IsId("ses", "ses_../../../../etc/passwd/0123456789"));
  EXPECT_FALSE(IsId("ses", "trn_0123456789abcdef0123456789abcdef"));
  EXPECT_FALSE(IsId("ses", "ses_0123456789ABCDEF0123456789abcdef"));
  EXPECT_FALSE(IsId("ses", "ses_0123456789abcdef0123456789abcdef0"));
}

}  // namespace
}  // namespace odyssey::agent
