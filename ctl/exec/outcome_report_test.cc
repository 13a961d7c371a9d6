#include "ctl/exec/outcome_report.h"

#include <gtest/gtest.h>

namespace odyssey::ctl {
namespace {

using supervisor::v1::ExecOutcome;

ExecOutcome Outcome(supervisor::v1::OutcomeKind kind) {
  ExecOutcome outcome;
  outcome.set_kind(kind);
  return outcome;
}

TEST(OutcomeReportTest, ExitCodeIsTheCommandsOwn) {
  ExecOutcome outcome = Outcome(supervisor::v1::OUTCOME_KIND_EXITED);
  for (const int code : {0, 1, 7, 124, 255}) {
    outcome.set_exit_code(code);
    EXPECT_EQ(ReportOutcome(outcome, "x", 0), (ExitReport{code, "", ""}));
  }
}

TEST(OutcomeReportTest, NamesTheProcessesThatWereEnded) {
  ExecOutcome outcome = Outcome(supervisor::v1::OUTCOME_KIND_EXITED);
  outcome.add_ended_processes("python3");
  EXPECT_EQ(EndedProcesses(outcome),
            "ended with the command: 1 process that it left running (python3)");
  outcome.add_ended_processes("a\x1b[31m");
  EXPECT_EQ(EndedProcesses(outcome).find('\x1b'), std::string::npos);
}

TEST(OutcomeReportTest, SignalIs128AndItsNumber) {
  ExecOutcome outcome = Outcome(supervisor::v1::OUTCOME_KIND_SIGNALLED);
  outcome.set_signal(11);
  EXPECT_EQ(ReportOutcome(outcome, "x", 0), (ExitReport{139, "", ""}));
}

TEST(OutcomeReportTest, TimeoutIs124) {
  ExecOutcome outcome = Outcome(supervisor::v1::OUTCOME_KIND_TIMED_OUT);
  outcome.set_duration_usec(60'100'000);
  EXPECT_EQ(
      ReportOutcome(outcome, "make", 0),
      (ExitReport{124, "make: timed out after 1 m 00 s; every process of it was killed", ""}));
}

TEST(OutcomeReportTest, OutOfMemoryIs137WithTheReason) {
  const ExecOutcome outcome = Outcome(supervisor::v1::OUTCOME_KIND_OOM_KILLED);
  EXPECT_EQ(ReportOutcome(outcome, "cc1", 0),
            (ExitReport{137, "cc1: out of memory: killed at the cell's memory limit", ""}));
}

TEST(OutcomeReportTest, DeniedIs126AndNotFoundIs127) {
  ExecOutcome outcome = Outcome(supervisor::v1::OUTCOME_KIND_DENIED);
  outcome.set_message("only git may execute");
  EXPECT_EQ(ReportOutcome(outcome, "curl", 0),
            (ExitReport{126, "curl: not permitted: only git may execute", ""}));
  outcome.set_message("curl: Permission denied");
  EXPECT_EQ(ReportOutcome(outcome, "curl", 0).message, "curl: not permitted: Permission denied");
  outcome = Outcome(supervisor::v1::OUTCOME_KIND_NOT_FOUND);
  EXPECT_EQ(ReportOutcome(outcome, "curl", 0),
            (ExitReport{127, "curl: not found: no such command in the cell", ""}));
}

TEST(OutcomeReportTest, WhatOdysseyCouldNotDoIs125) {
  EXPECT_EQ(ReportOutcome(Outcome(supervisor::v1::OUTCOME_KIND_SETUP_FAILED), "x", 0).code, 125);
  EXPECT_EQ(ReportOutcome(Outcome(supervisor::v1::OUTCOME_KIND_CANCELLED), "x", 0).code, 125);
  EXPECT_EQ(ReportOutcome(Outcome(supervisor::v1::OUTCOME_KIND_UNSPECIFIED), "x", 0).code, 125);
}

TEST(OutcomeReportTest, CellThatEndsUnderACommandIsNoCommandThatDidNotStart) {
  ExecOutcome outcome = Outcome(supervisor::v1::OUTCOME_KIND_SETUP_FAILED);
  outcome.set_message("the cell ended: killed");
  outcome.set_cell_ended(true);
  EXPECT_EQ(ReportOutcome(outcome, "make", 0).message, "make: interrupted: the cell ended: killed");
  outcome.set_cell_ended(false);
  outcome.set_message("no more processes");
  EXPECT_EQ(ReportOutcome(outcome, "make", 0).message, "make: not started: no more processes");
}

TEST(OutcomeReportTest, CancelledBySignalLooksLikeTheSignal) {
  EXPECT_EQ(ReportOutcome(Outcome(supervisor::v1::OUTCOME_KIND_CANCELLED), "x", 2),
            (ExitReport{130, "", ""}));
}

TEST(OutcomeReportTest, MessageOfACellCannotActOnTheTerminal) {
  ExecOutcome outcome = Outcome(supervisor::v1::OUTCOME_KIND_SETUP_FAILED);
  outcome.set_message("\x1b[2J");
  EXPECT_EQ(ReportOutcome(outcome, "\x1b]0;x\x07", 0).message, "\\e]0;x\\x07: not started: \\e[2J");
}

}  // namespace
}  // namespace odyssey::ctl
