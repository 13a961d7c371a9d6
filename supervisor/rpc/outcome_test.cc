#include "supervisor/rpc/outcome.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <signal.h>

namespace odyssey::supervisor {
namespace {

ExecFacts Exited(int wait_status) {
  return {.had_slot = true, .exited = cell::ExecExited{.wait_status = wait_status}};
}

TEST(OutcomeTest, SaysHowTheCommandEnded) {
  EXPECT_EQ(MakeOutcome(Exited(0)).sent.kind(), v1::OUTCOME_KIND_EXITED);
  EXPECT_EQ(MakeOutcome(Exited(3 << 8)).sent.exit_code(), 3);
  const Outcome signalled = MakeOutcome(Exited(SIGTERM));
  EXPECT_EQ(signalled.sent.kind(), v1::OUTCOME_KIND_SIGNALLED);
  EXPECT_EQ(signalled.sent.signal(), SIGTERM);
}

TEST(OutcomeTest, NamesTheProcessesThatTheCommandLeftRunning) {
  ExecFacts facts = Exited(0);
  facts.exited->left = {"python3", "a\xff"};
  const v1::ExecOutcome outcome = MakeOutcome(facts).sent;
  ASSERT_EQ(outcome.ended_processes_size(), 2);
  EXPECT_EQ(outcome.ended_processes(0), "python3");
  EXPECT_EQ(outcome.ended_processes(1), "a\xEF\xBF\xBD") << "a process chooses its name";

  facts.killed = true;
  EXPECT_EQ(MakeOutcome(facts).sent.ended_processes_size(), 0) << "rpc killed all of them at once";
}

TEST(OutcomeTest, WhyRpcEndedItCountsBeforeHowItEnded) {
  ExecFacts facts = Exited(SIGKILL);
  facts.wall_clock_ms = 2000;
  facts.stopped = Stopped::kTimedOut;
  EXPECT_EQ(MakeOutcome(facts).sent.message(), "command exceeded wall clock limit of 2 seconds");
  facts.stopped = Stopped::kCancelled;
  EXPECT_EQ(MakeOutcome(facts).sent.kind(), v1::OUTCOME_KIND_CANCELLED);
}

TEST(OutcomeTest, MemoryIsTheReasonOnlyIfTheKernelKilledTheCommandItself) {
  ExecFacts facts = Exited(SIGKILL);
  facts.oom_kills = 1;
  EXPECT_EQ(MakeOutcome(facts).sent.kind(), v1::OUTCOME_KIND_OOM_KILLED);
  facts.killed = true;
  EXPECT_EQ(MakeOutcome(facts).sent.kind(), v1::OUTCOME_KIND_SIGNALLED) << "rpc killed it";
  facts = Exited((128 + SIGKILL) << 8);  // as a shell reports its child
  facts.oom_kills = 1;
  EXPECT_EQ(MakeOutcome(facts).sent.kind(), v1::OUTCOME_KIND_OOM_KILLED);
  facts = Exited(1 << 8);
  facts.oom_kills = 1;
  EXPECT_EQ(MakeOutcome(facts).sent.kind(), v1::OUTCOME_KIND_EXITED);
}

TEST(OutcomeTest, TheCellMayEndUnderIt) {
  ExecFacts facts{.had_slot = true, .cell_ended = Unavailable("bwrap: no")};
  Outcome outcome = MakeOutcome(facts);
  EXPECT_EQ(outcome.sent.kind(), v1::OUTCOME_KIND_SETUP_FAILED);
  EXPECT_EQ(outcome.sent.message(), "the cell ended: bwrap: no");
  EXPECT_TRUE(outcome.sent.cell_ended());

  facts.cell_ended = Status(Code::kAborted, "memory");
  outcome = MakeOutcome(facts);
  EXPECT_EQ(outcome.sent.kind(), v1::OUTCOME_KIND_OOM_KILLED);
  EXPECT_EQ(outcome.sent.oom_kills(), 1u);
  facts.had_slot = false;  // it waited
  EXPECT_EQ(MakeOutcome(facts).sent.kind(), v1::OUTCOME_KIND_SETUP_FAILED);
}

TEST(OutcomeTest, AStartThatFailsSaysWhichStep) {
  const auto failed = [](cell::ExecStep step, int error) {
    ExecFacts facts{.had_slot = true, .cwd = "/workspace/x"};
    facts.failed = cell::ExecError{step, ErrnoStatus(error, "start")};
    return MakeOutcome(facts);
  };
  EXPECT_EQ(failed(cell::ExecStep::kExec, ENOENT).sent.kind(), v1::OUTCOME_KIND_NOT_FOUND);
  EXPECT_EQ(failed(cell::ExecStep::kExec, EACCES).sent.kind(), v1::OUTCOME_KIND_DENIED);
  EXPECT_EQ(failed(cell::ExecStep::kFork, EAGAIN).sent.kind(), v1::OUTCOME_KIND_SETUP_FAILED);
  EXPECT_EQ(failed(cell::ExecStep::kChdir, ENOENT).sent.message(),
            "access denied: working directory is not a directory: /workspace/x");
}

TEST(OutcomeTest, NoReportAtAllIsSaid) {
  EXPECT_FALSE(MakeOutcome({.had_slot = true}).sent.message().empty());
  EXPECT_EQ(MakeOutcome({.not_started = "create pipe: no"}).sent.message(), "create pipe: no");
}

}  // namespace
}  // namespace odyssey::supervisor
