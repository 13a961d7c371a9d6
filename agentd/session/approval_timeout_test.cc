#include "agentd/session/approval_timeout.h"

#include <gtest/gtest.h>

namespace odyssey::session {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(ApprovalTimeoutTest, TheShorterOneCounts) {
  EXPECT_EQ(ApprovalTimeout(0, seconds(0)), milliseconds(0));
  EXPECT_EQ(ApprovalTimeout(0, seconds(60)), seconds(60));
  EXPECT_EQ(ApprovalTimeout(1500, seconds(0)), milliseconds(1500));
  EXPECT_EQ(ApprovalTimeout(1500, seconds(60)), milliseconds(1500));
  EXPECT_EQ(ApprovalTimeout(120'000, seconds(60)), seconds(60)) << "of an older agentd's session";
}

TEST(ApprovalTimeoutTest, NoneIsLongerThanTheOperators) {
  EXPECT_TRUE(CheckApprovalTimeout(0, seconds(60)).ok());
  EXPECT_TRUE(CheckApprovalTimeout(60'000, seconds(60)).ok());
  const Status longer = CheckApprovalTimeout(60'001, seconds(60));
  EXPECT_EQ(longer.code(), Code::kInvalidArgument);
  EXPECT_NE(longer.message().find("at most 60000"), std::string::npos) << longer.message();
  EXPECT_TRUE(CheckApprovalTimeout(kMaxApprovalTimeoutMs, seconds(0)).ok());
  EXPECT_FALSE(CheckApprovalTimeout(kMaxApprovalTimeoutMs + 1, seconds(0)).ok());
}

}  // namespace
}  // namespace odyssey::session
