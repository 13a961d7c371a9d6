#include "supervisor/rpc/file_worker.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace odyssey::supervisor {
namespace {

// The test is cell-init, and the worker.
class FileWorkerTest : public ::testing::Test {
 protected:
  void Make(bool one_request = false) {
    worker_.emplace(
        &loop_,
        [this] {
          ++wanted_;
          return want_status_;
        },
        one_request);
  }
  UniqueFd Connect() {
    int ends[2];
    EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    worker_->OnStarted(UniqueFd(ends[0]));
    return UniqueFd(ends[1]);
  }
  void Ask(const std::string& path, std::string content = "") {
    worker_->Ask(
        {.op = tool::Op::kWrite, .path = path, .content = std::move(content)},
        [this, path](const Result<tool::Response>& response) {
          answers_.push_back(path + ": " +
                             (response.ok() ? response->content : response.status().message()));
          if (answers_.size() == expected_) loop_.Stop(OkStatus());
        });
  }
  // Runs the loop until there are so many answers.
  void RunUntil(size_t answers) {
    expected_ = answers;
    ASSERT_TRUE(loop_.Run().ok());
  }
  // Serves so many requests with their own path.
  static void Serve(int socket, int requests) {
    for (int i = 0; i < requests; ++i) {
      const Result<std::string> frame = tool::ReadFrame(socket);
      tool::Request request;
      ASSERT_TRUE(frame.ok() && tool::Decode(*frame, &request).ok());
      const std::string answer =
          tool::Encode(tool::Response{.content = request.path + std::string(300'000, '.')});
      ASSERT_TRUE(tool::WriteFrame(socket, answer).ok());
    }
  }

  EventLoop loop_;
  Status want_status_;
  int wanted_ = 0;
  std::optional<FileWorker> worker_;
  std::vector<std::string> answers_;
  size_t expected_ = 0;
};

TEST_F(FileWorkerTest, RequestsAreAnsweredInTheirOrderByOneWorker) {
  Make();
  Ask("a", std::string(4 << 20, 'x'));  // more than a socket holds
  Ask("b");
  EXPECT_TRUE(answers_.empty()) << "an answer from within Ask";
  const UniqueFd peer = Connect();
  std::thread serves([&] { Serve(peer.get(), 2); });
  RunUntil(2);
  serves.join();
  const std::string dots(300'000, '.');
  EXPECT_EQ(answers_, (std::vector<std::string>{"a: a" + dots, "b: b" + dots}));
  EXPECT_EQ(wanted_, 1);
}

TEST_F(FileWorkerTest, OnTheHostEachRequestHasAWorker) {
  Make(true);
  Ask("a");
  Ask("b");
  const UniqueFd peer = Connect();
  std::thread serves([&] { Serve(peer.get(), 1); });
  RunUntil(1);
  serves.join();
  EXPECT_EQ(wanted_, 2);
}

TEST_F(FileWorkerTest, WhyAWorkerDoesNotStartIsTheAnswerAndTheNextRequestWantsAnother) {
  Make();
  Ask("a");
  Ask("b");
  worker_->OnFailed(ResourceExhausted("no process"));
  RunUntil(2);
  EXPECT_EQ(answers_, (std::vector<std::string>{"a: no process", "b: no process"}));
  Ask("c");
  EXPECT_EQ(wanted_, 2);
}

TEST_F(FileWorkerTest, AWorkerThatCannotBeAskedForIsTheAnswer) {
  Make();
  want_status_ = Unavailable("the cell reads nothing");
  Ask("a");
  RunUntil(1);
  EXPECT_EQ(answers_, (std::vector<std::string>{"a: the cell reads nothing"}));
}

// It comes from inside the cell.
TEST_F(FileWorkerTest, WhatIsNoStreamSocketIsNotTaken) {
  Make();
  Ask("a");
  for (const char* path : {"/dev/zero", "/etc/passwd"}) {
    worker_->OnStarted(UniqueFd(open(path, O_RDONLY | O_CLOEXEC)));
  }
  worker_->Close(Unavailable("over"));
  RunUntil(1);
  EXPECT_EQ(answers_, (std::vector<std::string>{"a: over"}));
}

// Longer than any frame, no message, and the end in the middle of one.
TEST_F(FileWorkerTest, AnAnswerThatIsNoneEndsTheWorker) {
  Make();
  size_t asked = 0;
  for (const std::string& bytes : {std::string("\xff\xff\xff\xff", 4), tool::FrameHeader(3) + "abc",
                                   tool::FrameHeader(3) + "a"}) {
    Ask("a");
    const UniqueFd peer = Connect();
    ASSERT_EQ(send(peer.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
    shutdown(peer.get(), SHUT_WR);
    RunUntil(++asked);
    EXPECT_EQ(answers_.back().find("a: the cell's file worker ended: "), 0u) << answers_.back();
  }
  EXPECT_EQ(wanted_, 3);
}

TEST_F(FileWorkerTest, AfterTheCellEveryRequestGetsTheReason) {
  Make();
  Ask("a");
  const UniqueFd peer = Connect();
  worker_->Close(Unavailable("the cell ended"));
  Ask("b");
  RunUntil(2);
  EXPECT_EQ(answers_, (std::vector<std::string>{"a: the cell ended", "b: the cell ended"}));
}

}  // namespace
}  // namespace odyssey::supervisor
