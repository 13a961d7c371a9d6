#include "supervisor/rpc/exec.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <deque>
#include <map>
#include <optional>

#include "common/os/file.h"
#include "policy/explain/hint.h"
#include "supervisor/rpc/exec_fixture.h"

namespace odyssey::supervisor {
namespace {

TEST_F(ExecTest, DeliversOutputAndThenTheOutcome) {
  Start(Options());
  Write(out_, "hello");
  Write(err_, "oops");
  End(7 << 8);
  EXPECT_EQ(sink_.out, "hello");
  EXPECT_EQ(sink_.err, "oops");
  ASSERT_TRUE(sink_.outcome.has_value());
  EXPECT_EQ(sink_.outcome->sent.kind(), v1::OUTCOME_KIND_EXITED);
  EXPECT_EQ(sink_.outcome->sent.exit_code(), 7);
  EXPECT_EQ(sink_.outcome->sent.stdout_bytes(), 5u);
  EXPECT_TRUE(exec_->finished());
}

TEST_F(ExecTest, WaitsForOutputThatComesAfterTheExit) {
  Start(Options());
  Exit(0);
  exec_->OnReady(Source::kControl);
  EXPECT_FALSE(sink_.outcome.has_value());
  Write(out_, "late");
  End(0);
  EXPECT_EQ(sink_.out, "late");
  EXPECT_TRUE(sink_.outcome.has_value());
}

// They may still write to the cell's files.
TEST_F(ExecTest, ACommandThatLeavesProcessesHasEndedWhenTheyAreGone) {
  Start(Options());
  ASSERT_TRUE(SendMessage(control_.get(), cell::Encode(cell::ExecExited{.left = {"sleep"}})).ok());
  out_.reset();
  err_.reset();
  for (const Source source : {Source::kControl, Source::kStdout, Source::kStderr}) {
    exec_->OnReady(source);
  }
  EXPECT_FALSE(sink_.outcome.has_value());
  exec_->OnSlotGone();
  ASSERT_TRUE(sink_.outcome.has_value());
  EXPECT_EQ(sink_.outcome->sent.ended_processes_size(), 1);
}

TEST_F(ExecTest, ASlotThatIsGoneEndsItWhoeverHoldsTheOutputOpen) {
  Start(Options());
  Write(out_, "last words");
  Exit(0);
  exec_->OnSlotGone();  // out_ and err_ are still open here
  EXPECT_EQ(sink_.out, "last words");
  ASSERT_TRUE(sink_.outcome.has_value());
  EXPECT_EQ(sink_.outcome->sent.kind(), v1::OUTCOME_KIND_EXITED);
}

TEST_F(ExecTest, ASlotThatDiesUnseenIsASetupFailure) {
  Start(Options());
  control_.reset();
  exec_->OnSlotGone();
  ASSERT_TRUE(sink_.outcome.has_value());
  EXPECT_EQ(sink_.outcome->sent.kind(), v1::OUTCOME_KIND_SETUP_FAILED);
  EXPECT_FALSE(sink_.outcome->sent.message().empty());
}

// A slot is offered before it has forked the process that becomes the command.
TEST_F(ExecTest, ASlotThatCannotForkForItsCommandSaysSo) {
  auto exec = MessageSocketPair(), control = MessageSocketPair();
  Make(Options());
  exec_->Start(std::move(exec->first), std::move(control->first));
  ASSERT_TRUE(
      SendMessage(exec->second.get(),
                  cell::Encode(cell::ExecError{cell::ExecStep::kFork, ErrnoStatus(EAGAIN, "fork")}))
          .ok());
  exec->second.reset();  // the ExecSpec is unread
  control->second.reset();
  exec_->OnSlotGone();
  ASSERT_TRUE(sink_.outcome && sink_.outcome->never_forked);
  EXPECT_EQ(sink_.outcome->sent.kind(), v1::OUTCOME_KIND_SETUP_FAILED);
}

TEST_F(ExecTest, ACellThatEndsSaysWhy) {
  Start(Options());
  control_.reset();
  exec_->OnCellGone(Unavailable("bwrap: no"));
  ASSERT_TRUE(sink_.outcome.has_value());
  EXPECT_EQ(sink_.outcome->sent.message(), "the cell ended: bwrap: no");
  EXPECT_TRUE(sink_.outcome->sent.cell_ended() &&
              sink_.outcome->sent.kind() == v1::OUTCOME_KIND_SETUP_FAILED);
}

TEST_F(ExecTest, TheEndOfAConnectionsOutputIsSentOnceAndBeforeItsInputEnds) {
  ExecOptions options = Options();
  options.spec.port = 8000;
  options.open_stdin = true;
  Start(std::move(options));
  Write(out_, "answer");
  out_.reset();
  exec_->OnReady(Source::kStdout);
  EXPECT_EQ(sink_.out, "answer");
  EXPECT_EQ(sink_.ends, 1);
  exec_->WriteStdin("more");
  EXPECT_EQ(sink_.taken, 1);
  End(0);
  EXPECT_EQ(sink_.ends, 1);
  ASSERT_TRUE(sink_.outcome);
}

TEST_F(ExecTest, DeliversUpToTheCapAndCountsTheRest) {
  ExecOptions options = Options();
  options.stdout_cap = 4;
  Start(std::move(options));
  Write(out_, "123");
  exec_->OnReady(Source::kStdout);
  Write(out_, "456789");
  End(0);
  EXPECT_EQ(sink_.out, "1234");
  EXPECT_EQ(sink_.outcome->sent.stdout_bytes(), 9u);
  EXPECT_TRUE(sink_.outcome->sent.stdout_truncated());
  EXPECT_FALSE(sink_.outcome->sent.stderr_truncated());
}

TEST_F(ExecTest, ReadsNothingWhileTheSinkIsBusy) {
  sink_.stalls = true;
  Start(Options());
  Write(out_, "first");
  exec_->OnReady(Source::kStdout);
  Write(out_, "second");
  exec_->OnReady(Source::kStdout);
  EXPECT_EQ(sink_.out, "first");
  sink_.busy = false;
  exec_->Continue();
  EXPECT_EQ(sink_.out, "firstsecond");
}

// The loop must have its turn although the pipe never runs dry.
TEST_F(ExecTest, DroppedOutputIsReadInTurns) {
  constexpr int kEndless = 1000;
  ExecOptions options = Options();
  options.stdout_cap = 1;
  Start(std::move(options));
  fcntl(out_.get(), F_SETFL, O_NONBLOCK);
  int reads = 0;
  sink_.before_read = [&] {
    const std::string page(4096, 'x');
    if (++reads < kEndless) (void)!write(out_.get(), page.data(), page.size());
  };
  const int watched = host_->watched[static_cast<size_t>(Source::kStdout)];
  exec_->OnReady(Source::kStdout);
  EXPECT_EQ(sink_.out, "x");
  EXPECT_LT(reads, kEndless);
  EXPECT_EQ(host_->watched[static_cast<size_t>(Source::kStdout)], watched + 1) << "to go on later";
}

TEST_F(ExecTest, CancellingKillsTheSlotAndDropsTheRest) {
  Start(Options());
  exec_->Cancel();
  EXPECT_TRUE(SlotWasKilled());
  Write(out_, "nobody reads this");
  control_.reset();
  exec_->OnSlotGone();
  EXPECT_EQ(sink_.out, "");
  ASSERT_TRUE(sink_.outcome.has_value());
  EXPECT_EQ(sink_.outcome->sent.kind(), v1::OUTCOME_KIND_CANCELLED);
}

TEST_F(ExecTest, TheWallClockSaysTermThenKills) {
  ExecOptions options = Options();
  options.wall_clock_ms = 100;
  Start(std::move(options));
  exec_->OnDeadline(Clock::now());
  EXPECT_FALSE(SlotWasKilled()) << "too early";
  const auto first = exec_->deadline();
  exec_->OnDeadline(first);
  cell::SignalSlot signal;
  ASSERT_TRUE(cell::Decode(ReceiveMessage(control_.get())->bytes, &signal).ok());
  EXPECT_EQ(signal.signal, SIGTERM);
  EXPECT_TRUE(signal.everyone);
  EXPECT_GT(exec_->deadline(), first);
  exec_->OnDeadline(exec_->deadline());
  EXPECT_TRUE(SlotWasKilled());
  control_.reset();
  exec_->OnSlotGone();
  EXPECT_EQ(sink_.outcome->sent.kind(), v1::OUTCOME_KIND_TIMED_OUT);
  EXPECT_EQ(sink_.outcome->sent.message(), "command exceeded wall clock limit of 100 ms");
  EXPECT_EQ(exec_->deadline(), Clock::time_point::max());
}

TEST_F(ExecTest, ACommandThatIsNotDeadAfterItsEndIsOverdueOnce) {
  const auto ends = {std::function<void()>([this] { exec_->Cancel(); }),
                     std::function<void()>([this] { exec_->Detach(); }),
                     std::function<void()>([this] { End(0); })};
  for (const auto& end : ends) {
    Start(Options());
    EXPECT_EQ(exec_->deadline(), Clock::time_point::max());
    end();
    EXPECT_EQ(exec_->deadline(), host_->timer);
    const Clock::time_point overdue = host_->timer;
    exec_->OnDeadline(overdue - std::chrono::milliseconds(1));
    EXPECT_EQ(std::exchange(host_->overdue, 0), 0);
    exec_->OnDeadline(overdue);
    exec_->OnDeadline(overdue);
    EXPECT_EQ(std::exchange(host_->overdue, 0), 1) << "the cell is ended once";
    EXPECT_EQ(exec_->deadline(), Clock::time_point::max());
    sink_.outcome.reset();
  }
  Start(Options());
  exec_->Cancel();
  exec_->OnSlotGone();
  exec_->OnDeadline(host_->timer);
  EXPECT_EQ(host_->overdue, 0);
}

TEST_F(ExecTest, ACommandThatWaitsForASlotHasItsWallClock) {
  ExecOptions options = Options();
  options.wall_clock_ms = 100;
  Make(std::move(options));
  exec_->Queue();
  EXPECT_EQ(host_->timer, exec_->deadline());
  exec_->OnDeadline(exec_->deadline());
  EXPECT_EQ(host_->left_queue, 1);
  ASSERT_TRUE(sink_.outcome.has_value());
  EXPECT_EQ(sink_.outcome->sent.kind(), v1::OUTCOME_KIND_TIMED_OUT);
  EXPECT_TRUE(exec_->finished());
}

TEST_F(ExecTest, AKilledCommandAsksWhetherMemoryRanOut) {
  answers_usage_ = false;
  Start(Options());
  End(SIGKILL);
  EXPECT_EQ(host_->usage_asked, 1);
  EXPECT_FALSE(sink_.outcome.has_value());
  exec_->SetUsage(2, 0);
  ASSERT_TRUE(sink_.outcome.has_value());
  EXPECT_EQ(sink_.outcome->sent.kind(), v1::OUTCOME_KIND_OOM_KILLED);
  EXPECT_EQ(sink_.outcome->sent.oom_kills(), 2u);
}

TEST_F(ExecTest, AFailedCommandIsNotKilledForMemoryThoughOthersWere) {
  answers_usage_ = false;
  Start(Options());
  End(1 << 8);
  EXPECT_EQ(host_->usage_asked, 1);
  exec_->SetUsage(2, 5);
  ASSERT_TRUE(sink_.outcome.has_value());
  EXPECT_EQ(sink_.outcome->sent.kind(), v1::OUTCOME_KIND_EXITED);
  EXPECT_EQ(sink_.outcome->sent.oom_kills(), 2u);
  EXPECT_EQ(sink_.outcome->pids_refused, 5u);
}

TEST_F(ExecTest, ACommandThatComplainsAsksThoughItEndsWell) {
  Start(Options());
  Write(err_, "cannot fork, trying again");
  End(0);
  EXPECT_EQ(host_->usage_asked, 1);
}

// A command may end before the record of what it was refused has come.
TEST_F(ExecTest, TheOutcomeWaitsForDecisionsOnTheNetwork) {
  host_->decisions_under_way = true;
  Start(Options());
  End(0);
  EXPECT_FALSE(sink_.outcome.has_value());
  exec_->OnDecisionsKnown();
  EXPECT_TRUE(sink_.outcome.has_value());
}

TEST_F(ExecTest, ItWaitsForThemThoughTheCellIsGone) {
  host_->decisions_under_way = true;
  Start(Options());
  exec_->OnCellGone(Unavailable("gone"));
  EXPECT_FALSE(sink_.outcome.has_value());
  exec_->OnDecisionsKnown();
  EXPECT_TRUE(sink_.outcome.has_value());
}

// The way of most commands is not longer for it.
TEST_F(ExecTest, ACommandThatEndsWellAndSilentlyAsksNothing) {
  Start(Options());
  Write(out_, "output");
  End(0);
  EXPECT_EQ(host_->usage_asked, 0);
  EXPECT_TRUE(sink_.outcome.has_value());
}

TEST_F(ExecTest, ACommandOfALargeProcessAsksThoughItEndsWellAndSilently) {
  for (const uint64_t size : {99, 100}) {
    ExecOptions options = Options();
    options.memory_bytes = 400;
    Start(std::move(options));
    ASSERT_TRUE(
        SendMessage(control_.get(), cell::Encode(cell::ExecExited{.max_rss_bytes = size})).ok());
    out_.reset();
    err_.reset();
    for (const Source source : {Source::kControl, Source::kStdout, Source::kStderr}) {
      exec_->OnReady(source);
    }
    EXPECT_EQ(host_->usage_asked, size == 100 ? 1 : 0);
  }
}

TEST_F(ExecTest, WhatTheSlotToldOfRefusedCallsIsInTheOutcome) {
  const cell::ExecExited exit{.pid = 2, .refused = {{165, {}, 3, 7, "mount"}}, .refused_more = 4};
  Start(Options());
  ASSERT_TRUE(SendMessage(control_.get(), cell::Encode(exit)).ok());
  out_.reset();
  err_.reset();
  for (const Source source : {Source::kControl, Source::kStdout, Source::kStderr}) {
    exec_->OnReady(source);
  }
  ASSERT_TRUE(sink_.outcome.has_value());
  EXPECT_EQ(sink_.outcome->pid, 2u);
  EXPECT_EQ(sink_.outcome->refused_calls, exit.refused);
  EXPECT_EQ(sink_.outcome->refused_more, 4u);
}

// A slot that is told to end says first what it refused.
TEST_F(ExecTest, AKilledCommandsRefusedCallsAreKnownToo) {
  ExecOptions options = Options();
  options.wall_clock_ms = 100;
  Start(std::move(options));
  exec_->OnDeadline(exec_->deadline());
  exec_->OnDeadline(exec_->deadline());
  ASSERT_TRUE(ReceiveMessage(control_.get()).ok());
  EXPECT_TRUE(SlotWasKilled());
  const cell::ExecExited exit{.wait_status = SIGKILL, .refused = {{165, {}, 3, 7, "mount"}}};
  ASSERT_TRUE(SendMessage(control_.get(), cell::Encode(exit)).ok());
  control_.reset();
  exec_->OnSlotGone();
  exec_->SetUsage(1, 0);
  ASSERT_TRUE(sink_.outcome.has_value());
  EXPECT_EQ(sink_.outcome->sent.kind(), v1::OUTCOME_KIND_TIMED_OUT);
  EXPECT_EQ(sink_.outcome->sent.oom_kills(), 1u);
  EXPECT_EQ(sink_.outcome->refused_calls.size(), 1u);
}

TEST_F(ExecTest, AKilledCommandWithMemoryToSpareWasSignalled) {
  Start(Options());
  End(SIGKILL);
  EXPECT_EQ(sink_.outcome->sent.kind(), v1::OUTCOME_KIND_SIGNALLED);
  EXPECT_EQ(sink_.outcome->sent.signal(), SIGKILL);
}

TEST_F(ExecTest, WhatKeptItFromStartingDecidesTheOutcome) {
  const struct {
    cell::ExecStep step;
    const char* what;
    int error;
    v1::OutcomeKind kind;
    const char* message;
  } cases[] = {
      {cell::ExecStep::kExec, "command", ENOENT, v1::OUTCOME_KIND_NOT_FOUND,
       "command: No such file or directory"},
      {cell::ExecStep::kExec, "command", EACCES, v1::OUTCOME_KIND_DENIED,
       "command: Permission denied"},
      {cell::ExecStep::kExec, "command", ENOEXEC, v1::OUTCOME_KIND_SETUP_FAILED,
       "command: Exec format error"},
      {cell::ExecStep::kChdir, "chdir /workspace", ENOENT, v1::OUTCOME_KIND_SETUP_FAILED,
       "access denied: working directory is not a directory: /workspace"},
      {cell::ExecStep::kChdir, "chdir /workspace", EACCES, v1::OUTCOME_KIND_SETUP_FAILED,
       "chdir /workspace: Permission denied"},
  };
  for (const auto& one : cases) {
    sink_.outcome.reset();
    Start(Options());
    ASSERT_TRUE(SendMessage(exec_socket_.get(), cell::Encode(cell::ExecError{
                                                    one.step, ErrnoStatus(one.error, one.what)}))
                    .ok());
    End(125 << 8);
    ASSERT_TRUE(sink_.outcome.has_value());
    EXPECT_EQ(sink_.outcome->sent.kind(), one.kind);
    EXPECT_EQ(sink_.outcome->sent.message(), one.message);
  }
}

TEST_F(ExecTest, AnythingUnexpectedFromTheSlotIsNoOutcome) {
  Start(Options());
  ASSERT_TRUE(SendMessage(control_.get(), "rubbish").ok());
  exec_->OnReady(Source::kControl);
  EXPECT_FALSE(sink_.outcome.has_value());
  ASSERT_TRUE(SendMessage(exec_socket_.get(), "rubbish").ok());
  End(0);
  EXPECT_EQ(sink_.outcome->sent.kind(), v1::OUTCOME_KIND_EXITED);
}

TEST_F(ExecTest, ADetachedSessionSaysNothingAndKills) {
  Start(Options());
  exec_->Detach();
  EXPECT_TRUE(SlotWasKilled());
  Write(out_, "text");
  control_.reset();
  exec_->OnSlotGone();
  EXPECT_EQ(sink_.out, "");
  EXPECT_FALSE(sink_.outcome.has_value());
}

// A command whose streams are kept: the worker's files are strings, its jobs wait for the test.
class KeptOutputTest : public ExecTest {
 protected:
  void StartKept(uint64_t cap) {
    ExecOptions options = Options();
    options.stdout_cap = options.stderr_cap = cap;
    options.keep_output = true;
    host_->make_copy = [this](Stream stream) {
      const char* path = stream == Stream::kStdout ? "stdout" : "stderr";
      return std::make_shared<RunOutput>(
          RunOutput::Wiring{.ask =
                                [this](const tool::Request& request, FileWorker::Answer answer) {
                                  jobs_.push_back([this, request, answer = std::move(answer)] {
                                    answer(Answer(request));
                                  });
                                },
                            .progress = [this] { exec_->Continue(); }},
          path);
    };
    Start(std::move(options));
  }
  Result<tool::Response> Answer(const tool::Request& request) {
    if (request.op == tool::Op::kDiscard) return tool::Response{};
    if (!disk_.ok()) return disk_;
    files_[request.path] += request.content;
    return tool::Response{};
  }
  void DoJobs() {
    while (!jobs_.empty()) {
      const auto job = std::move(jobs_.front());
      jobs_.pop_front();
      job();
    }
    AnswerUsage();
  }

  std::map<std::string, std::string> files_;
  std::deque<std::function<void()>> jobs_;
  Status disk_;
};

TEST_F(KeptOutputTest, KeepsAStreamThatIsCutFromItsFirstByte) {
  StartKept(4);
  Write(out_, "123");
  exec_->OnReady(Source::kStdout);
  EXPECT_TRUE(jobs_.empty()) << "nothing is cut yet";
  Write(out_, "456789");
  Write(err_, "1234");
  End(0);
  EXPECT_FALSE(sink_.outcome.has_value()) << "the copy is not written yet";
  DoJobs();
  ASSERT_TRUE(sink_.outcome.has_value());
  EXPECT_EQ(sink_.out, "1234");
  EXPECT_TRUE(sink_.outcome->sent.stdout_truncated());
  EXPECT_EQ(files_, (std::map<std::string, std::string>{{"stdout", "123456789"}}));
  EXPECT_EQ(sink_.outcome->sent.message(), "");
}

TEST_F(KeptOutputTest, ACopyThatFailsSaysSoAndTheCommandGoesOn) {
  StartKept(4);
  disk_ = ResourceExhausted("write: No space left on device");
  Write(out_, "123456789");
  exec_->OnReady(Source::kStdout);
  DoJobs();
  Write(out_, std::string(60'000, 'x'));
  End(3 << 8);
  ASSERT_TRUE(sink_.outcome.has_value());
  EXPECT_EQ(sink_.outcome->sent.exit_code(), 3);
  EXPECT_EQ(sink_.outcome->sent.stdout_bytes(), 60'009u);
  EXPECT_EQ(sink_.outcome->sent.message(),
            "the copy of stdout in the outbox is cut: write: No space left on device");
}

// The command waits for its copy, not the other way round: memory stays bounded.
TEST_F(KeptOutputTest, ReadsNoFasterThanTheCopyIsWritten) {
  StartKept(1);
  fcntl(out_.get(), F_SETFL, O_NONBLOCK);
  const std::string piece(64 * 1024, 'x');
  uint64_t written = 0;
  int idle = 0;
  while (idle < 100) {
    const ssize_t n = write(out_.get(), piece.data(), piece.size());
    written += n > 0 ? static_cast<uint64_t>(n) : 0;
    idle = n > 0 ? 0 : idle + 1;
    exec_->OnReady(Source::kStdout);
  }
  EXPECT_LT(written, 8u << 20);
  DoJobs();
  End(0);
  DoJobs();
  ASSERT_TRUE(sink_.outcome.has_value());
  EXPECT_EQ(files_["stdout"].size(), written);
  EXPECT_EQ(sink_.outcome->sent.stdout_bytes(), written);
}

TEST_F(KeptOutputTest, CancellingWaitsForNoCopy) {
  StartKept(1);
  Write(out_, "123456789");
  exec_->OnReady(Source::kStdout);
  exec_->Cancel();
  control_.reset();
  exec_->OnSlotGone();
  EXPECT_TRUE(sink_.outcome.has_value());
}

// What the cell makes of the end of a command.
class EndedExecTest : public ExecTest {
 protected:
  void StartJudged(ExecOptions options, size_t denials) {
    host_->conclude = [this, denials](Outcome* outcome, std::string_view tail) {
      ends_.push_back(outcome->sent.kind());
      tail_ = tail;
      std::vector<explain::Denial> out(denials);
      for (size_t i = 0; i < denials; ++i) out[i].resource = std::to_string(i);
      outcome->sent.set_denials(static_cast<uint32_t>(denials));
      return out;
    };
    Start(std::move(options));
  }

  std::vector<v1::OutcomeKind> ends_;
  std::string tail_;
};

TEST_F(EndedExecTest, DenialsComeAfterTheOutputAndBeforeTheOutcomeOneAtATime) {
  StartJudged(Options(), 2);
  Write(err_, "no");
  sink_.stalls = true;
  End(1 << 8);
  for (size_t sent = 0; sent < 2; ++sent) {
    EXPECT_EQ(sink_.denials.size(), sent);
    EXPECT_FALSE(sink_.outcome.has_value());
    sink_.busy = false;
    exec_->Continue();
  }
  sink_.busy = false;
  exec_->Continue();
  EXPECT_EQ(sink_.denials, (std::vector<std::string>{"0", "1"}));
  ASSERT_TRUE(sink_.outcome.has_value());
  EXPECT_EQ(sink_.outcome->sent.denials(), 2u);
  EXPECT_EQ(tail_, "no");
  EXPECT_EQ(ends_, (std::vector<v1::OutcomeKind>{v1::OUTCOME_KIND_EXITED}));
}

TEST_F(EndedExecTest, TheEndIsRecordedOnceAlsoWhenTheClientIsGone) {
  StartJudged(Options(), 1);
  exec_->Detach();
  EXPECT_TRUE(ends_.empty()) << "it is not over yet";
  control_.reset();
  exec_->OnSlotGone();
  exec_->OnCellGone(Unavailable(""));
  EXPECT_EQ(ends_, (std::vector<v1::OutcomeKind>{v1::OUTCOME_KIND_CANCELLED}));
  EXPECT_TRUE(sink_.denials.empty());
}

TEST_F(EndedExecTest, OnlyTheLastWordsAreKeptAndAlsoThoseThatACapCutsOff) {
  ExecOptions options = Options();
  options.stderr_cap = 1;
  StartJudged(std::move(options), 0);
  for (int i = 0; i < 20; ++i) {
    Write(err_, std::string(4000, 'x') + "\n");
    exec_->OnReady(Source::kStderr);
  }
  Write(err_, "last");
  End(1 << 8);
  EXPECT_LE(tail_.size(), 2 * explain::kMaxHintBytes);
  EXPECT_EQ(tail_.substr(tail_.size() - 5), "\nlast");
}

}  // namespace
}  // namespace odyssey::supervisor
