#include "supervisor/egress/limits/fair_shares.h"

#include <gtest/gtest.h>

#include <string>

namespace odyssey::egress {
namespace {

constexpr size_t kMany = 10000;

class FairSharesTest : public testing::Test {
 protected:
  bool Ask(const char* owner, size_t max_waiting = kMany) {
    return shares_.Ask(owner, max_waiting, [this, owner] { started_ += owner; });
  }

  FairShares shares_{4, 2};  // in all, each
  const char *a_ = "a", *b_ = "b", *c_ = "c";
  std::string started_;
};

TEST_F(FairSharesTest, EachHasItsOwnBound) {
  for (int i = 0; i < 5; ++i) Ask(a_);
  EXPECT_EQ(started_, "aa");
  shares_.Release(a_);
  EXPECT_EQ(started_, "aaa");
}

TEST_F(FairSharesTest, AThousandOfOneKeepNoOtherWaiting) {
  for (int i = 0; i < 1000; ++i) Ask(a_);
  Ask(b_);
  EXPECT_EQ(started_, "aab");
}

TEST_F(FairSharesTest, ThoseThatWaitTakeTurns) {
  const char* const d = "d";
  for (const char* owner : {a_, a_, d, d}) Ask(owner);
  for (int i = 0; i < 3; ++i) Ask(b_);
  for (int i = 0; i < 3; ++i) Ask(c_);
  EXPECT_EQ(started_, "aadd");
  for (const char* owner : {a_, a_, d, d}) shares_.Release(owner);
  EXPECT_EQ(started_, "aaddbcbc");
}

TEST_F(FairSharesTest, APlaceGoesToAnotherWhenTheNextHasItsShare) {
  for (const char* owner : {a_, a_, b_, c_, a_, b_, c_}) Ask(owner);
  EXPECT_EQ(started_, "aabc");
  shares_.Release(c_);
  EXPECT_EQ(started_, "aabcb");
}

TEST_F(FairSharesTest, WaitingIsBounded) {
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(Ask(a_, 1));
  EXPECT_FALSE(Ask(a_, 1));
  EXPECT_TRUE(Ask(b_, 0));
}

TEST_F(FairSharesTest, WhatIsForgottenIsNotStarted) {
  for (int i = 0; i < 4; ++i) Ask(a_);
  for (int i = 0; i < 4; ++i) Ask(b_);
  shares_.Forget(a_);
  for (int i = 0; i < 2; ++i) shares_.Release(a_);
  EXPECT_EQ(started_, "aabb");
  Ask(c_);
  shares_.Release(b_);
  EXPECT_EQ(started_, "aabbcb");
}

}  // namespace
}  // namespace odyssey::egress
