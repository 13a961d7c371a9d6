#include "supervisor/rpc/output_stream.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <deque>
#include <functional>
#include <memory>
#include <string_view>

#include "common/base/utf8.h"

namespace odyssey::supervisor {
namespace {

class OutputStreamTest : public ::testing::Test {
 protected:
  void SetUp() override { Connect(); }
  void Connect() {
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
  void Say(std::string_view text) {
    ASSERT_EQ(write(theirs_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  // What the cap leaves of a text that comes in pieces of so many bytes.
  std::string Delivered(uint64_t cap, std::string_view text, size_t piece_bytes) {
    Connect();
    OutputStream stream = Stream(cap);
    std::string out;
    const auto read = [&] {
      for (int i = 0; i < 10 && stream.Read(&piece_); ++i) {
        if (stream.Cut(&piece_)) out += piece_;
      }
    };
    for (size_t at = 0; at < text.size(); at += piece_bytes) {
      Say(text.substr(at, piece_bytes));
      stream.set_readable(true);
      read();
    }
    stream.ReadToTheEnd();  // the other end stays open
    read();
    EXPECT_FALSE(stream.open());
    EXPECT_EQ(stream.bytes(), text.size());
    EXPECT_EQ(stream.truncated(), text.size() > cap);
    return out;
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

TEST_F(OutputStreamTest, TheCapSplitsNoCharacter) {
  const std::string text = "a\u00e9\u4e16\U0001f680b\U0001f680\u4e16\u00e9z";
  for (uint64_t cap = 1; cap <= text.size(); ++cap) {
    const std::string expected =
        text.substr(0, CompleteUtf8Prefix(std::string_view(text).substr(0, cap)));
    for (size_t piece = 1; piece <= text.size(); ++piece) {
      EXPECT_EQ(Delivered(cap, text, piece), expected) << cap << ", pieces of " << piece;
    }
  }
}

TEST_F(OutputStreamTest, WhatIsNoTextIsCutAtTheCap) {
  const std::string bytes = "\xff\xfe\x80\xe4\xe4\xb8\xff";
  for (const size_t piece : {1, 2, 3, 7}) {
    EXPECT_EQ(Delivered(3, bytes, piece), bytes.substr(0, 3));
    EXPECT_EQ(Delivered(4, bytes, piece), bytes.substr(0, 3)) << "may be a character's beginning";
    EXPECT_EQ(Delivered(7, bytes, piece), bytes);
  }
}

TEST_F(OutputStreamTest, ABeginningWithoutItsCharacterIsDeliveredWhenTheStreamEnds) {
  for (const std::string bytes : {"abc\xf0\x9f\x9a", "abc\xe4", "\xc3"}) {
    for (const size_t piece : {1, 2, 6}) {
      EXPECT_EQ(Delivered(bytes.size(), bytes, piece), bytes);
      EXPECT_EQ(Delivered(bytes.size() + 1, bytes, piece), bytes);
    }
  }
}

TEST_F(OutputStreamTest, OnlyWhatTheCapCutsIsCopiedAndThenFromTheBeginning) {
  OutputStream stream = Stream(6);
  std::string written;
  std::deque<std::function<void()>> jobs;
  std::shared_ptr<RunOutput> copy;
  stream.CopyCutOutputTo([&] {
    return copy = std::make_shared<RunOutput>(
               RunOutput::Wiring{.ask =
                                     [&](const tool::Request& request, FileWorker::Answer answer) {
                                       jobs.push_back([&, request, answer = std::move(answer)] {
                                         written += request.content;
                                         answer(tool::Response{});
                                       });
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
  stream.ReadToTheEnd();
  EXPECT_FALSE(stream.Read(&piece_));
  EXPECT_FALSE(stream.CopyDone()) << "it is still to be written";
  for (; !jobs.empty(); jobs.pop_front()) jobs.front()();
  EXPECT_TRUE(stream.CopyDone());
  EXPECT_EQ(written, "abcdefghij");
}

}  // namespace
}  // namespace odyssey::supervisor
