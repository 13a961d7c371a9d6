#ifndef ODYSSEY_AGENTD_JOB_JOB_H_
#define ODYSSEY_AGENTD_JOB_JOB_H_

// One command that runs in a session's cell beside its turns. Thread-safe.

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "agentd/base/clock.h"
#include "agentd/base/redactor.h"
#include "agentd/event/command_events.h"
#include "agentd/event/command_output.h"
#include "agentd/event/journal.h"
#include "agentd/event/redacted_events.h"
#include "agentd/job/output_ring.h"
#include "agentd/sandbox/sandbox.h"
#include "common/base/status.h"
#include "odyssey/agent/v1/session.pb.h"

namespace odyssey::job {

// Kept of each stream for polls.
inline constexpr size_t kKeptBytes = 256 * 1024;

// What a job runs, and where it is recorded.
struct JobCommand {
  std::string session_id, turn_id, tool_call_id;
  std::string command;    // the line, as the model wrote it
  std::string shown_cwd;  // absolute
  supervisor::v1::ExecStart start;
  std::map<std::string, std::string> secrets;  // which no output shows
  uint64_t journal_bytes = 0;                  // of each stream; then a note
  std::shared_ptr<event::Journal> journal;
};

// Of a job whose command has begun: what a restart of agentd has to know of it.
struct BegunJob {
  std::string id, turn_id, exec_id;
  friend bool operator==(const BegunJob&, const BegunJob&) = default;
};

struct PollTerms {
  std::optional<uint64_t> stdout_from, stderr_from;  // unset: where the last poll ended
  size_t max_bytes = kKeptBytes;                     // of each stream
  // Until there is new output and it has paused, or the job has ended.
  std::chrono::milliseconds wait{0};
};

struct Polled {
  agent::v1::Job job;
  OutputRing::Piece out, err;
  uint64_t out_dropped = 0, err_dropped = 0;  // bytes before the piece that are not kept
  bool more = false;                          // output that max_bytes left out
  // Of an ended job: the outcome, or why there is none.
  std::optional<supervisor::v1::ExecOutcome> outcome;
  std::string error;
  std::vector<supervisor::v1::Denial> denials;
};

class Job final {
 public:
  // Called from the job's thread. An error of `begun` ends the command before it is told.
  struct Hooks {
    std::function<Status(const BegunJob&)> begun;
    std::function<void()> ended;  // after the event of the end
  };

  Job(JobCommand command, std::string id, const agent::Clock* clock, Hooks hooks);

  // Runs the command to its end. Called once, by a thread of its own.
  void Run(sandbox::Sandbox* sandbox);

  // Returns when the command has begun; an error: it could not, or `stop` was requested.
  Status AwaitBegin(const std::stop_token& stop);
  Polled Poll(const PollTerms& terms, const std::stop_token& stop);
  // FAILED_PRECONDITION: it has ended, or its stdin is closed. RESOURCE_EXHAUSTED: it does not
  // read.
  Status Input(const std::string& text, bool close);
  // SIGTERM, after kGrace SIGKILL for every process. Returns when none is left.
  void Stop();
  // SIGKILL, without waiting.
  void Kill();
  // Returns when no process is left, or nothing is known of it any more.
  void AwaitEnd();

  bool running() const;
  agent::v1::Job facts() const;
  const JobCommand& command() const { return command_; }

 private:
  struct Captured {
    explicit Captured(const char* name, uint64_t journal_bytes)
        : output(name), journal_left(journal_bytes) {}
    event::CommandOutput output;
    uint64_t journal_left;
    bool journal_cut = false;
    OutputRing kept{kKeptBytes};
    uint64_t polled = 0;  // where the last poll ended
  };

  Result<supervisor::v1::ExecOutcome> Execute(sandbox::Sandbox* sandbox);
  Status OnStarted(const supervisor::v1::ExecStarted& started);
  Status OnOutput(const supervisor::v1::ExecOutput& output);
  Status OnDenied(const supervisor::v1::Denial& denial);
  Status OnDecided(const supervisor::v1::EgressDecision& decision);
  Status Deliver(Captured& captured, std::string text);
  Status Record(event::Event event);
  Status RecordOutput(event::Event event);
  void End(const Result<supervisor::v1::ExecOutcome>& ended);
  bool AwaitEndFor(std::chrono::milliseconds time);
  bool HasNews() const;

  const JobCommand command_;
  const agent::Clock* const clock_;
  const Hooks hooks_;
  const agent::Redactor redactor_;
  // Of the job's thread:
  event::RedactedEvents events_{&redactor_};
  event::CommandId id_;  // exec_id: the supervisor has taken the command
  bool told_ = false;    // the event of its beginning is in the journal

  Captured out_, err_;  // `kept` and `polled` guarded by mutex_, the rest of the job's thread
  sandbox::ExecFeed feed_;
  std::stop_source stop_;

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  // All below: guarded by mutex_.
  agent::v1::Job facts_;
  bool begun_ = false;
  bool ended_ = false;
  Status failure_;  // why there is no outcome
  std::optional<supervisor::v1::ExecOutcome> outcome_;
  std::vector<supervisor::v1::Denial> denials_;
};

}  // namespace odyssey::job

#endif  // ODYSSEY_AGENTD_JOB_JOB_H_
