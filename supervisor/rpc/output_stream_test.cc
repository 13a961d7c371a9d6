#include "supervisor/rpc/output_stream.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <deque>
#include <functional>
#include <memory>

namespace odyssey::supervisor {
namespace {

class OutputStreamTest : public ::testing::Test {
 protected:
  void SetUp() override {
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    ours_ = UniqueFd(ends[0]);
    theirs_ = UniqueFd(ends[1]);
  }

  OutputStream Stream(uint64_t cap) {
    OutputStream stream(cap);
    stream.Open(std::move(ours_));
    stream.set_readable(true);
    return stream;
  }
  void Say(const std::string& text) {
    ASSERT_EQ(write(theirs_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }

  UniqueFd ours_, theirs_;
  std::string piece_;
};

TEST_F(OutputStreamTest, AQuietStreamIsReadAgainWhenItIsReadable) {
  OutputStream stream = Stream(0);
  EXPECT_FALSE(stream.Read(&piece_));
  EXPECT_FALSE(stream.WantsRead());
  EXPECT_TRUE(stream.open());
  Say("word");
  stream.set_readable(true);
  ASSERT_TRUE(stream.Read(&piece_));
  EXPECT_EQ(piece_, "word");
}

TEST_F(OutputStreamTest, TheEndClosesIt) {
  OutputStream stream = Stream(0);
  Say("last");
  theirs_.reset();
  ASSERT_TRUE(stream.Read(&piece_));
  EXPECT_EQ(piece_, "last");
  EXPECT_FALSE(stream.Read(&piece_));
  EXPECT_FALSE(stream.open());
}

TEST_F(OutputStreamTest, ALoudStreamIsReadInLargePieces) {
  OutputStream stream = Stream(0);
  const std::string full(64 * 1024, 'x');
  Say(full);
  ASSERT_TRUE(stream.Read(&piece_));
  ASSERT_EQ(piece_, full);
  EXPECT_GT(fcntl(stream.fd(), F_GETPIPE_SZ), 64 * 1024);
  Say(full);
  Say("and more");
  ASSERT_TRUE(stream.Read(&piece_));
  EXPECT_EQ(piece_, full + "and more");
}

TEST_F(OutputStreamTest, WhatTheCapCutsIsCountedAndSaid) {
  OutputStream stream = Stream(6);
  for (const char* text : {"abcd", "efgh", "ijkl"}) Say(text);
  ASSERT_TRUE(stream.Read(&piece_));
  EXPECT_TRUE(stream.Cut(&piece_));
  EXPECT_EQ(piece_, "abcdef");
  EXPECT_EQ(stream.bytes(), 12u);
  EXPECT_TRUE(stream.truncated());
  Say("more");
  stream.set_readable(true);
  ASSERT_TRUE(stream.Read(&piece_));
  EXPECT_FALSE(stream.Cut(&piece_));
  EXPECT_EQ(stream.bytes(), 16u);
}

TEST_F(OutputStreamTest, OnlyWhatTheCapCutsIsCopiedAndThenFromTheBeginning) {
  OutputStream stream = Stream(6);
  std::string written;
  std::deque<std::function<void()>> jobs;
  std::shared_ptr<RunOutput> copy;
  stream.KeepBy([&] {
    return copy = std::make_shared<RunOutput>(
               RunOutput::Wiring{
                   .ask = [&](const tool::Request& request) -> Result<tool::Response> {
                     written += request.content;
                     return tool::Response{};
                   },
                   .do_later =
                       [&](std::function<void()> job) {
                         jobs.push_back(std::move(job));
                         return true;
                       },
                   .progress = [] {}},
               "run/outbox/stdout");
  });
  stream.Keep("abcd");
  EXPECT_EQ(copy, nullptr);
  EXPECT_TRUE(stream.CopyDone());
  stream.Keep("efgh");
  ASSERT_NE(copy, nullptr);
  stream.Keep("ij");
  EXPECT_FALSE(stream.CopyDone()) << "more may come";
  stream.set_readable(false);
  stream.CloseIfDrained();
  EXPECT_FALSE(stream.CopyDone()) << "it is still to be written";
  for (; !jobs.empty(); jobs.pop_front()) jobs.front()();
  EXPECT_TRUE(stream.CopyDone());
  EXPECT_EQ(written, "abcdefghij");
}

}  // namespace
}  // namespace odyssey::supervisor
