#include "supervisor/rpc/outcome.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "common/base/utf8.h"

namespace odyssey::supervisor {
namespace {

// A shell reports a child killed by SIGKILL as this exit code.
constexpr int kShellKilled = 128 + SIGKILL;

bool IsMissing(const Status& status) {
  return status.detail().error == ENOENT || status.detail().error == ENOTDIR;
}

v1::OutcomeKind KindOf(const cell::ExecError& error) {
  const int number = error.status.detail().error;
  if (error.step != cell::ExecStep::kExec) return v1::OUTCOME_KIND_SETUP_FAILED;
  if (IsMissing(error.status)) return v1::OUTCOME_KIND_NOT_FOUND;
  if (number == EACCES || number == EPERM) return v1::OUTCOME_KIND_DENIED;
  return v1::OUTCOME_KIND_SETUP_FAILED;
}

std::string Describe(const cell::ExecError& error, const std::string& cwd) {
  if (error.step == cell::ExecStep::kChdir && IsMissing(error.status)) {
    return "access denied: working directory is not a directory: " + cwd;
  }
  return error.status.message();
}

std::string TimeText(uint32_t ms) {
  return ms % 1000 == 0 ? std::to_string(ms / 1000) + " seconds" : std::to_string(ms) + " ms";
}

// The kernel killed the command itself, or so a shell reports it; or it killed the cell's pid 1,
// and the command with it. Else other processes were killed, and the command went on.
bool IsOomKilled(const ExecFacts& facts) {
  if (!facts.exited) {
    return facts.had_slot && facts.cell_ended && facts.cell_ended->code() == Code::kAborted;
  }
  const int status = facts.exited->wait_status;
  const bool was_killed = (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) ||
                          (WIFEXITED(status) && WEXITSTATUS(status) == kShellKilled);
  return facts.oom_kills > 0 && was_killed && !facts.killed;
}

std::string WhyUnknown(const ExecFacts& facts) {
  if (facts.cell_ended && !facts.cell_ended->message().empty()) {
    return "the cell ended: " + facts.cell_ended->message();
  }
  if (facts.cell_ended) return "the cell ended";
  return facts.not_started.empty() ? "no wait status of the command's process arrived"
                                   : facts.not_started;
}

void SetEnd(const ExecFacts& facts, Outcome* outcome) {
  if (facts.stopped == Stopped::kTimedOut) {
    outcome->sent.set_kind(v1::OUTCOME_KIND_TIMED_OUT);
    outcome->sent.set_message(
        "command exceeded wall clock limit of " + TimeText(facts.wall_clock_ms) +
        (facts.had_slot ? ""
                        : ", waiting for the cell's other commands to let it start a process"));
  } else if (facts.stopped == Stopped::kCancelled) {
    outcome->sent.set_kind(v1::OUTCOME_KIND_CANCELLED);
    outcome->sent.set_message("cancelled");
  } else if (facts.failed) {
    outcome->sent.set_kind(KindOf(*facts.failed));
    outcome->sent.set_message(Describe(*facts.failed, facts.cwd));
  } else if (IsOomKilled(facts)) {
    outcome->sent.set_kind(v1::OUTCOME_KIND_OOM_KILLED);
    outcome->sent.set_signal(SIGKILL);
    outcome->sent.set_message("killed: the cell's memory limit was reached");
  } else if (!facts.exited) {
    outcome->sent.set_kind(v1::OUTCOME_KIND_SETUP_FAILED);
    outcome->sent.set_message(WhyUnknown(facts));
    outcome->sent.set_cell_ended(facts.cell_ended.has_value());
  } else if (WIFSIGNALED(facts.exited->wait_status)) {
    outcome->sent.set_kind(v1::OUTCOME_KIND_SIGNALLED);
    outcome->sent.set_signal(WTERMSIG(facts.exited->wait_status));
  } else {
    outcome->sent.set_kind(v1::OUTCOME_KIND_EXITED);
    outcome->sent.set_exit_code(WEXITSTATUS(facts.exited->wait_status));
  }
}

}  // namespace

Outcome MakeOutcome(const ExecFacts& facts) {
  Outcome outcome;
  outcome.sent.set_duration_usec(facts.duration_usec);
  if (facts.exited) {
    outcome.sent.set_user_usec(facts.exited->user_usec);
    outcome.sent.set_system_usec(facts.exited->system_usec);
    outcome.sent.set_max_rss_bytes(facts.exited->max_rss_bytes);
    outcome.pid = facts.exited->pid;
    outcome.refused_calls = facts.exited->refused;
    outcome.refused_more = facts.exited->refused_more;
    outcome.full = facts.exited->full;
  }
  const bool with_its_cell = !facts.exited && IsOomKilled(facts);
  outcome.sent.set_oom_kills(with_its_cell ? 1 : static_cast<uint32_t>(facts.oom_kills));
  outcome.pids_refused = facts.pids_refused;
  outcome.never_forked = facts.never_forked;
  SetEnd(facts, &outcome);
  // What rpc killed was not left.
  if (!facts.exited || facts.stopped != Stopped::kNo || facts.killed) return outcome;
  for (const std::string& name : facts.exited->left) {
    outcome.sent.add_ended_processes(SanitizeUtf8(name));
  }
  return outcome;
}

}  // namespace odyssey::supervisor
