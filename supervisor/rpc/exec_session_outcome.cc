// How a session's command ended, from all that is known when nothing of it is left.

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>

#include "supervisor/rpc/exec_session.h"

namespace odyssey::supervisor {
namespace {

// A shell reports a child killed by SIGKILL as this exit code.
constexpr int kShellKilled = 128 + SIGKILL;
// Of the cell's memory: four workers that use it up have as much each.
constexpr uint64_t kPartOfALargeProcess = 4;

bool IsMissing(const Status& status) {
  return status.detail().error == ENOENT || status.detail().error == ENOTDIR;
}

v1::OutcomeKind KindOfExecError(const cell::ExecError& error) {
  const int number = error.status.detail().error;
  if (error.step != cell::ExecStep::kExec) return v1::OUTCOME_KIND_SETUP_FAILED;
  if (IsMissing(error.status)) return v1::OUTCOME_KIND_NOT_FOUND;
  if (number == EACCES || number == EPERM) return v1::OUTCOME_KIND_DENIED;
  return v1::OUTCOME_KIND_SETUP_FAILED;
}

std::string DescribeExecError(const cell::ExecError& error, const cell::ExecSpec& spec) {
  if (error.step == cell::ExecStep::kChdir && IsMissing(error.status)) {
    return "access denied: working directory is not a directory: " + spec.cwd;
  }
  return error.status.message();
}

std::string TimeText(uint32_t ms) {
  return ms % 1000 == 0 ? std::to_string(ms / 1000) + " seconds" : std::to_string(ms) + " ms";
}

// Says of a copy that ends early why it does.
void AddCopyNote(const std::shared_ptr<RunOutput>& copy, const char* stream, Outcome* outcome) {
  if (copy == nullptr || copy->error().empty()) return;
  outcome->message += (outcome->message.empty() ? "" : "; ") + std::string("the copy of ") +
                      stream + " in the outbox is cut: " + copy->error();
}

}  // namespace

// Of stderr, whatever is delivered of it: how a command says why it failed.
void ExecSession::KeepTail(std::string_view bytes) {
  constexpr size_t kTail = explain::kMaxComplaintBytes;
  stderr_tail_ += bytes.substr(bytes.size() - std::min(bytes.size(), kTail));
  if (stderr_tail_.size() > 2 * kTail) stderr_tail_.erase(0, stderr_tail_.size() - kTail);
}

// A command that ends well and without a word is not asked about: nothing kept it from its work,
// unless a process of it that is gone was of a size to be killed.
bool ExecSession::MayHaveReachedALimit() const {
  const bool large = options_.memory_bytes != 0 &&
                     exit_.max_rss_bytes >= options_.memory_bytes / kPartOfALargeProcess;
  return exited_ && !cancelled_ && !exec_failed_ &&
         (exit_.wait_status != 0 || stderr_.bytes() > 0 || large);
}

void ExecSession::AskUsageOnce() {
  if (usage_asked_ || usage_known_ || !MayHaveReachedALimit()) return;
  usage_asked_ = true;
  ask_usage_();
}

// The command itself was killed for memory if it was killed, by the kernel or so that a shell tells
// it; else it lost others, and went on.
void ExecSession::SetUsage(uint64_t oom_kills, uint64_t pids_refused) {
  const std::lock_guard lock(mutex_);
  const int status = exit_.wait_status;
  const bool was_killed = (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) ||
                          (WIFEXITED(status) && WEXITSTATUS(status) == kShellKilled);
  oom_kills_ = oom_kills;
  oom_killed_ = oom_kills > 0 && was_killed && !killed_;
  pids_refused_ = pids_refused;
  usage_known_ = true;
  Pump();
}

void ExecSession::End() {
  if (ended_) return;
  ended_ = true;
  outcome_ = MakeOutcome();
  if (conclude_) denials_ = conclude_(options_, &outcome_, stderr_tail_);
}

Outcome ExecSession::MakeOutcome() const {
  Outcome outcome;
  outcome.stdout_bytes = stdout_.bytes();
  outcome.stderr_bytes = stderr_.bytes();
  outcome.stdout_truncated = stdout_.truncated();
  outcome.stderr_truncated = stderr_.truncated();
  outcome.duration_usec = duration_usec_;
  outcome.user_usec = exit_.user_usec;
  outcome.system_usec = exit_.system_usec;
  outcome.max_rss_bytes = exit_.max_rss_bytes;
  outcome.pid = exit_.pid;
  outcome.refused_calls = exit_.refused;
  outcome.refused_more = exit_.refused_more;
  outcome.oom_kills = static_cast<uint32_t>(oom_kills_);
  outcome.pids_refused = pids_refused_;
  outcome.never_forked = never_forked_;
  SetEnd(&outcome);
  AddCopyNote(stdout_.copy(), "stdout", &outcome);
  AddCopyNote(stderr_.copy(), "stderr", &outcome);
  return outcome;
}

void ExecSession::SetEnd(Outcome* outcome) const {
  if (timed_out_) {
    outcome->kind = v1::OUTCOME_KIND_TIMED_OUT;
    outcome->message =
        "command exceeded wall clock limit of " + TimeText(options_.wall_clock_ms) +
        (waiting_ ? ", waiting for the cell's other commands to let it start a process" : "");
  } else if (cancelled_) {
    outcome->kind = v1::OUTCOME_KIND_CANCELLED;
    outcome->message = "cancelled";
  } else if (exec_failed_) {
    outcome->kind = KindOfExecError(exec_error_);
    outcome->message = DescribeExecError(exec_error_, options_.spec);
  } else if (oom_killed_) {
    outcome->kind = v1::OUTCOME_KIND_OOM_KILLED;
    outcome->signal = SIGKILL;
    outcome->message = "killed: the cell's memory limit was reached";
  } else if (!exited_) {
    outcome->kind = v1::OUTCOME_KIND_SETUP_FAILED;
    outcome->message = failure_.empty() ? "the command's process ended unseen" : failure_;
    outcome->cell_ended = cell_ended_;
  } else if (WIFSIGNALED(exit_.wait_status)) {
    outcome->kind = v1::OUTCOME_KIND_SIGNALLED;
    outcome->signal = WTERMSIG(exit_.wait_status);
  } else {
    outcome->kind = v1::OUTCOME_KIND_EXITED;
    outcome->exit_code = WEXITSTATUS(exit_.wait_status);
  }
}

}  // namespace odyssey::supervisor
