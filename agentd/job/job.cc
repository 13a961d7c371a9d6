#include "agentd/job/job.h"

#include <signal.h>

#include <algorithm>
#include <utility>

#include "common/base/utf8.h"
#include "common/message/enum_name.h"

namespace odyssey::job {

namespace pb = ::odyssey::supervisor::v1;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

constexpr milliseconds kGrace{2'000};  // between SIGTERM and SIGKILL
// For the supervisor to see every process dead; then the call is cancelled, and with it whatever
// is left.
constexpr milliseconds kTimeToEnd{6'000};
// Output that stops for so long is worth an answer.
constexpr milliseconds kPause{100};

bool Exited(const pb::ExecOutcome& ended) { return ended.kind() == pb::OUTCOME_KIND_EXITED; }

}  // namespace

Job::Job(JobCommand command, std::string id, const agent::Clock* clock, Hooks hooks)
    : command_(std::move(command)),
      clock_(clock),
      hooks_(std::move(hooks)),
      redactor_(command_.secrets),
      id_{command_.turn_id, ""},
      out_("stdout", command_.journal_bytes),
      err_("stderr", command_.journal_bytes) {
  facts_.set_id(std::move(id));
  facts_.set_turn_id(command_.turn_id);
  facts_.set_command(command_.command);
  facts_.set_cwd(command_.shown_cwd);
  facts_.set_started_at(agent::FormatTime(clock_->Now()));
}

// ── The job's thread ────────────────────────────────────────────────────────────────────────────

void Job::Run(sandbox::Sandbox* sandbox) {
  End(Execute(sandbox));
  feed_.End();
}

Result<pb::ExecOutcome> Job::Execute(sandbox::Sandbox* sandbox) {
  const sandbox::ExecSink sink{
      [this](const pb::ExecStarted& started) { return OnStarted(started); },
      [this](const pb::ExecOutput& output) { return OnOutput(output); },
      [this](const pb::Denial& denial) { return OnDenied(denial); },
      [this](const pb::EgressDecision& decision) { return OnDecided(decision); }, &feed_};
  return sandbox->Exec(command_.start, sink, stop_.get_token());
}

// Recorded before its first event: a restart finds no beginning of a job that it does not know.
Status Job::OnStarted(const pb::ExecStarted& started) {
  id_.exec_id = started.exec_id();
  const std::string id = facts().id();
  ODY_RETURN_IF_ERROR(hooks_.begun({id, id_.turn_id, id_.exec_id}));
  const auto& argv = command_.start.argv();
  event::Event begin = event::CommandBegins(id_, {argv.begin(), argv.end()}, command_.shown_cwd);
  begin.mutable_exec_command_begin()->set_job_id(id);
  ODY_RETURN_IF_ERROR(Record(std::move(begin)));
  told_ = true;
  std::lock_guard lock(mutex_);
  begun_ = true;
  changed_.notify_all();
  return OkStatus();
}

Status Job::OnOutput(const pb::ExecOutput& output) {
  Captured& captured = output.stream() == pb::OUTPUT_STREAM_STDERR ? err_ : out_;
  return Deliver(captured, captured.output.Push(output.data()));
}

Status Job::OnDenied(const pb::Denial& denial) {
  {
    std::lock_guard lock(mutex_);
    denials_.push_back(denial);
  }
  return Record(event::AccessIsDenied(id_.turn_id, command_.tool_call_id, denial));
}

Status Job::OnDecided(const pb::EgressDecision& decision) {
  return Record(event::EgressIsDecided(id_.turn_id, command_.tool_call_id, decision));
}

Status Job::Deliver(Captured& captured, std::string text) {
  if (text.empty()) return OkStatus();
  return RecordOutput(event::CommandPrints(id_, captured.output.name(), std::move(text)));
}

Status Job::Record(event::Event event) {
  return command_.journal->Append(std::move(event), event::Durability::kBatched).status();
}

// What is left of the event, and what comes with it, without secrets: all of it for polls, its
// beginning for the journal.
Status Job::RecordOutput(event::Event event) {
  for (event::Event& shown : events_.Of(std::move(event))) {
    if (shown.has_exec_command_output_delta()) {
      auto& delta = *shown.mutable_exec_command_output_delta();
      Captured& captured = delta.stream() == err_.output.name() ? err_ : out_;
      {
        std::lock_guard lock(mutex_);
        captured.kept.Push(delta.delta());
        facts_.set_output_bytes(out_.kept.end() + err_.kept.end());
        changed_.notify_all();
      }
      if (captured.journal_cut) continue;
      captured.journal_cut = delta.delta().size() > captured.journal_left;
      if (captured.journal_cut) {
        std::string text = delta.delta().substr(0, captured.journal_left);
        text.resize(CompleteUtf8Prefix(text));
        delta.set_delta(text + captured.output.End(true));
      }
      captured.journal_left -= std::min<uint64_t>(captured.journal_left, delta.delta().size());
    }
    ODY_RETURN_IF_ERROR(Record(std::move(shown)));
  }
  return OkStatus();
}

// Records the event of the end before the state changes: a poll that finds the job ended finds the
// event in the journal too.
void Job::End(const Result<pb::ExecOutcome>& ended) {
  const bool cancelled = ended.status().code() == Code::kCancelled;
  const std::string outcome = ended.ok()  ? std::string(message::EnumName(ended->kind()))
                              : cancelled ? "cancelled"
                                          : "setup_failed";
  const int32_t exit_code = ended.ok() && Exited(*ended) ? ended->exit_code() : -1;
  Status recorded = OkStatus();
  if (told_) {
    for (Captured* captured : {&out_, &err_}) {
      if (recorded.ok()) recorded = Deliver(*captured, captured->output.End(false));
    }
    const Status told = RecordOutput(event::CommandEnds(id_, exit_code, outcome));
    if (recorded.ok()) recorded = told;
  }
  if (!id_.exec_id.empty()) hooks_.ended();
  std::lock_guard lock(mutex_);
  facts_.set_ended_at(agent::FormatTime(clock_->Now()));
  facts_.set_outcome(outcome);
  facts_.set_exit_code(exit_code);
  failure_ = ended.ok() ? recorded : ended.status();
  if (ended.ok()) outcome_ = *ended;
  ended_ = true;
  changed_.notify_all();
}

// ── Other threads ───────────────────────────────────────────────────────────────────────────────

Status Job::AwaitBegin(const std::stop_token& stop) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, stop, [this] { return begun_ || ended_; });
  if (begun_) return OkStatus();
  if (!ended_) return Cancelled("the command was cancelled");
  return failure_.ok() ? Internal("the supervisor ended the command before it began") : failure_;
}

// Caller holds mutex_.
bool Job::HasNews() const {
  return ended_ || out_.kept.end() > out_.polled || err_.kept.end() > err_.polled;
}

Polled Job::Poll(const PollTerms& terms, const std::stop_token& stop) {
  const auto until = steady_clock::now() + terms.wait;
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, stop, until, [this] { return HasNews(); });
  for (bool grows = true; grows && !ended_ && steady_clock::now() < until;) {
    const uint64_t seen = facts_.output_bytes();
    const auto pause = std::min(until, steady_clock::now() + kPause);
    grows = changed_.wait_until(lock, stop, pause,
                                [&] { return ended_ || facts_.output_bytes() != seen; });
  }

  const auto take = [&](Captured& captured, const std::optional<uint64_t>& from,
                        uint64_t* dropped) {
    const uint64_t asked = from.value_or(captured.polled);
    OutputRing::Piece piece = captured.kept.Read(asked, terms.max_bytes);
    *dropped = piece.offset - std::min(piece.offset, asked);
    captured.polled = piece.end();
    return piece;
  };
  Polled polled;
  polled.out = take(out_, terms.stdout_from, &polled.out_dropped);
  polled.err = take(err_, terms.stderr_from, &polled.err_dropped);
  polled.more = out_.kept.end() > out_.polled || err_.kept.end() > err_.polled;
  polled.job = facts_;
  if (!ended_) return polled;
  polled.outcome = outcome_;
  polled.error = failure_.message();
  polled.denials = denials_;
  return polled;
}

Status Job::Input(const std::string& text, bool close) {
  if (!running()) return FailedPrecondition("it has ended");
  if (!text.empty()) ODY_RETURN_IF_ERROR(feed_.Write(text));
  if (close) feed_.CloseStdin();
  return OkStatus();
}

bool Job::AwaitEndFor(milliseconds time) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, time, [this] { return ended_; });
}

void Job::Stop() {
  feed_.Signal(SIGTERM);
  if (AwaitEndFor(kGrace)) return;
  Kill();
  AwaitEnd();
}

// Its first process is killed, whose end kills the others.
void Job::Kill() { feed_.Signal(SIGKILL); }

void Job::AwaitEnd() {
  if (AwaitEndFor(kTimeToEnd)) return;
  stop_.request_stop();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ended_; });
}

bool Job::running() const {
  std::lock_guard lock(mutex_);
  return !ended_;
}

agent::v1::Job Job::facts() const {
  std::lock_guard lock(mutex_);
  return facts_;
}

}  // namespace odyssey::job
