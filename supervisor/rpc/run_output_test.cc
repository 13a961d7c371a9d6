#include "supervisor/rpc/run_output.h"

#include <gtest/gtest.h>

#include <deque>

namespace odyssey::supervisor {
namespace {

constexpr uint64_t kShown = 4096;

// The worker is a string, and requests wait until the test does them.
class RunOutputTest : public ::testing::Test {
 protected:
  RunOutputTest() {
    output_ = std::make_shared<RunOutput>(
        RunOutput::Wiring{.ask =
                              [this](const tool::Request& request, FileWorker::Answer answer) {
                                jobs_.push_back([this, request, answer = std::move(answer)] {
                                  answer(Answer(request));
                                });
                              },
                          .progress = [this] { ++progress_; }},
        "run_x/outbox/stdout");
  }

  Result<tool::Response> Answer(const tool::Request& request) {
    EXPECT_EQ(request.path, "run_x/outbox/stdout");
    if (request.op == tool::Op::kDiscard) {
      file_.clear();
      size_ = 0;
      return tool::Response{};
    }
    EXPECT_EQ(request.op, request.offset == 0 ? tool::Op::kCreate : tool::Op::kAppend);
    EXPECT_EQ(request.offset, size_);
    ++writes_;
    if (size_ + request.content.size() > room_) return ResourceExhausted("no room");
    size_ += request.content.size();
    if (size_ <= kShown) file_ += request.content;
    return tool::Response{};
  }
  void DoJobs() {
    while (!jobs_.empty()) {
      const auto job = std::move(jobs_.front());
      jobs_.pop_front();
      job();
    }
  }

  std::shared_ptr<RunOutput> output_;
  std::deque<std::function<void()>> jobs_;
  std::string file_ = "of an earlier command";
  uint64_t size_ = 0;  // of the file, of which only the beginning is here
  uint64_t room_ = UINT64_MAX;
  int writes_ = 0;
  int progress_ = 0;
};

TEST_F(RunOutputTest, WritesEverythingAndReplacesWhatWasThere) {
  output_->Add("one ");
  DoJobs();
  output_->Add("two");
  output_->Close();
  EXPECT_FALSE(output_->done());
  DoJobs();
  EXPECT_EQ(file_, "one two");
  EXPECT_TRUE(output_->done());
  EXPECT_EQ(output_->error(), "");
  EXPECT_EQ(progress_, 2);
}

TEST_F(RunOutputTest, SmallPiecesBecomeFewWrites) {
  for (int i = 0; i < 1000; ++i) output_->Add("x");
  DoJobs();
  EXPECT_EQ(file_, std::string(1000, 'x'));
  EXPECT_EQ(writes_, 2) << "the first, and all that came while it was written";
}

TEST_F(RunOutputTest, IsFullUntilTheWorkerCatchesUp) {
  const std::string piece(1 << 20, 'x');
  for (int i = 0; i < 2; ++i) {  // one is with the worker
    output_->Add(piece);
    EXPECT_FALSE(output_->full());
  }
  output_->Add(piece);
  EXPECT_TRUE(output_->full());
  DoJobs();
  EXPECT_FALSE(output_->full());
}

TEST_F(RunOutputTest, AFullDiskEndsTheCopyAndHoldsNothingBack) {
  room_ = 10;
  output_->Add("0123456789");
  DoJobs();
  output_->Add("more");
  DoJobs();
  EXPECT_EQ(output_->error(), "no room");
  output_->Add(std::string(8 << 20, 'x'));
  EXPECT_FALSE(output_->full());
  EXPECT_TRUE(output_->done());
  EXPECT_TRUE(jobs_.empty());
  EXPECT_EQ(file_, "0123456789");
}

TEST_F(RunOutputTest, KeepsABoundedAmount) {
  const std::string piece(16 << 20, 'x');
  for (uint64_t added = 0; added < kMaxKeptBytes; added += piece.size()) {
    output_->Add(piece);
    DoJobs();
  }
  EXPECT_EQ(output_->error(), "");
  output_->Add("x");
  DoJobs();
  EXPECT_EQ(output_->error(), "at most 268435456 bytes are kept");
  EXPECT_EQ(size_, kMaxKeptBytes);
  EXPECT_TRUE(output_->done());
}

}  // namespace
}  // namespace odyssey::supervisor
