// What a client writes to a command: when it comes, and when it is taken.

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <string>

#include "supervisor/rpc/exec_fixture.h"

namespace odyssey::supervisor {
namespace {

TEST_F(ExecTest, WritesStdinAsThePipeTakesItAndClosesIt) {
  ExecOptions options = Options();
  options.open_stdin = true;
  Start(std::move(options));
  const std::string input(200'000, 'i');  // more than a pipe holds
  exec_->WriteStdin(input);
  EXPECT_EQ(sink_.taken, 0);
  std::string got;
  char buffer[65536];
  while (got.size() < input.size()) {
    const ssize_t n = read(in_.get(), buffer, sizeof(buffer));
    ASSERT_GT(n, 0);
    got.append(buffer, static_cast<size_t>(n));
    exec_->OnReady(Source::kStdin);
  }
  EXPECT_EQ(got, input);
  EXPECT_EQ(sink_.taken, 1);
  exec_->CloseStdin();
  EXPECT_EQ(read(in_.get(), buffer, sizeof(buffer)), 0);
}

TEST_F(ExecTest, InputThatComesBeforeTheCommandHasASlotIsKept) {
  ExecOptions options = Options();
  options.open_stdin = true;
  Make(std::move(options));
  exec_->WriteStdin("text");
  EXPECT_EQ(sink_.taken, 0);
  exec_->CloseStdin();
  GiveSlot();
  exec_->OnReady(Source::kStdin);
  EXPECT_EQ(sink_.taken, 1);
  char buffer[9];
  EXPECT_EQ(read(in_.get(), buffer, sizeof(buffer)), 4);
  EXPECT_EQ(read(in_.get(), buffer, sizeof(buffer)), 0) << "closed";
}

TEST_F(ExecTest, InputThatNobodyReadsIsTakenAndDropped) {
  ExecOptions options = Options();
  options.open_stdin = true;
  Start(std::move(options));
  signal(SIGPIPE, SIG_IGN);
  in_.reset();
  exec_->WriteStdin("text");
  EXPECT_EQ(sink_.taken, 1);
}

}  // namespace
}  // namespace odyssey::supervisor
