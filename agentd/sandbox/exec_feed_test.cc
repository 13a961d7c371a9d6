#include "agentd/sandbox/exec_feed.h"

#include <gtest/gtest.h>

#include <thread>

namespace odyssey::sandbox {
namespace {

TEST(ExecFeedTest, GivesStdinInPiecesAndItsEndOnce) {
  ExecFeed feed;
  ASSERT_TRUE(feed.Write(std::string(40'000, 'x')).ok());
  feed.CloseStdin();
  feed.CloseStdin();
  EXPECT_EQ(feed.Take()->stdin().size(), 32u * 1024);
  EXPECT_EQ(feed.Take()->stdin().size(), 40'000u - 32 * 1024);
  EXPECT_TRUE(feed.Take()->stdin_eof());
  feed.Signal(9);
  EXPECT_EQ(feed.Take()->signal(), 9) << "and nothing between";
  EXPECT_EQ(feed.Write("y").code(), Code::kFailedPrecondition);
}

TEST(ExecFeedTest, ASignalDoesNotWaitForInput) {
  ExecFeed feed;
  ASSERT_TRUE(feed.Write("x").ok());
  feed.Signal(15);
  EXPECT_EQ(feed.Take()->signal(), 15);
  EXPECT_EQ(feed.Take()->stdin(), "x");
}

TEST(ExecFeedTest, WhatIsNotReadIsBounded) {
  ExecFeed feed;
  ASSERT_TRUE(feed.Write(std::string(kMaxFedBytes, 'x')).ok());
  EXPECT_EQ(feed.Write("y").code(), Code::kResourceExhausted);
  (void)feed.Take();
  EXPECT_TRUE(feed.Write("y").ok());
}

TEST(ExecFeedTest, TheEndWakesWhoTakes) {
  ExecFeed feed;
  std::thread taker([&] { EXPECT_FALSE(feed.Take().has_value()); });
  feed.End();
  taker.join();
  EXPECT_EQ(feed.Write("y").code(), Code::kFailedPrecondition);
}

}  // namespace
}  // namespace odyssey::sandbox
