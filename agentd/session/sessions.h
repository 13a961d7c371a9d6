#ifndef ODYSSEY_AGENTD_SESSION_SESSIONS_H_
#define ODYSSEY_AGENTD_SESSION_SESSIONS_H_

// Everything that can be done with sessions: what the services call. Thread-safe. Ids that name
// nothing are NOT_FOUND.

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agentd/scheduler/strand_pool.h"
#include "agentd/session/deadlines.h"
#include "agentd/session/operator_hold.h"
#include "agentd/session/runtime.h"
#include "agentd/session/session_job.h"
#include "agentd/session/session_store.h"
#include "agentd/session/setup_cache.h"
#include "agentd/session/worker_call.h"

namespace odyssey::session {

inline constexpr size_t kMaxPromptBytes = 1024 * 1024;
inline constexpr size_t kMaxSessionEnv = 256;
inline constexpr uint64_t kMaxDeadlineMs = uint64_t{30} * 24 * 3600 * 1000;
inline constexpr size_t kMaxIdempotencyKeyBytes = 256;

using Environment = std::map<std::string, std::string>;

struct NewSession {
  std::string bundle;  // absolute path of a bundle directory, or a reference
  std::string cwd;     // absolute, or empty
  Environment env;
  std::string agent_id;  // empty: the bundle's default
  uint32_t owner_uid = kNobody;
  bool allow_danger = false;
  bool review = false;  // host directories are written on a copy
};

// What one call says of its turn.
struct TurnTerms {
  uint64_t deadline_ms = 0;     // from the acceptance; 0: none
  std::string idempotency_key;  // empty: every call makes a turn
};

struct Submitted {
  std::string turn_id;
  uint64_t after_sequence = 0;
};

class Sessions final : public Workers {
 public:
  struct Options {
    size_t workers = 4;
    size_t queue_bound = 128;
    size_t queue_total = 10'000;
  };

  // `runtime`'s objects are borrowed; its store has been loaded.
  Sessions(Runtime runtime, const Options& options);
  // Stops.
  ~Sessions() override;

  // After a start: every turn that was running when agentd ended is interrupted, queued ones are
  // queued again in their order, and every end is in the journal. To be called once, before
  // anything else. Returns what could not be made whole, for the log; the other sessions are.
  std::vector<std::string> Recover();

  // Nothing is stored of a session whose every turn would fail, as far as that is known now.
  Result<SessionPtr> Create(const NewSession& spec);
  Result<SessionPtr> Get(const std::string& session_id) const;
  std::vector<SessionPtr> List() const;
  // Ends the session's turns, then removes its cells with their directories, approvals, journal and
  // record. On failure what is left can be deleted again.
  Status Delete(const std::string& session_id);
  // Removes from the store of bundles what no session and no installation uses.
  void CollectBundles() const;

  // A second session from the same state: its turns, and its cell's directories with the changes in
  // them. FAILED_PRECONDITION while something is queued or runs in the session.
  Result<SessionPtr> Fork(const std::string& session_id);
  // Calls `work` while nothing is queued or runs in the session, and nothing is accepted for it.
  // FAILED_PRECONDITION if something is.
  Status WhileIdle(const std::string& session_id, const std::function<Status()>& work);

  // The turn is recorded and queued when this returns. RESOURCE_EXHAUSTED: the queue is full.
  // `env` takes the place of the session's. Of a key that the session has seen: the turn that it
  // made; FAILED_PRECONDITION if that has another prompt.
  Result<Submitted> Submit(const std::string& session_id, const std::string& prompt,
                           const std::optional<Environment>& env = std::nullopt,
                           const TurnTerms& terms = {});
  Result<TurnRecord> GetTurn(const std::string& session_id, const std::string& turn_id) const;
  // Returns when the turn has ended; false: it had ended already. Empty turn_id: the running one.
  Result<bool> Cancel(const std::string& session_id, const std::string& turn_id);

  Result<std::shared_ptr<event::Journal>> JournalOf(const std::string& session_id) const;

  // Queues an operator, who gets the session's cell, with the standard executables, when the queue
  // has come to him. `on_held` is called once, by another thread; after a cell's id the operator
  // must Release the hold.
  Result<std::shared_ptr<OperatorHold>> Hold(const std::string& session_id,
                                             std::function<void(Result<std::string>)> on_held);
  // The operator has gone: ends a hold that waits, and requests the stop of one that is held.
  void StopHold(const std::string& session_id, const std::shared_ptr<OperatorHold>& hold);

  Result<supervisor::v1::FileReadResult> ReadFile(const std::string& session_id,
                                                  const std::string& path, uint64_t offset,
                                                  uint64_t max_bytes);

  Result<std::string> StartWorker(const Caller& caller, const tools::WorkerCall& call,
                                  std::function<void(const WorkerEnd&)> on_end) override;
  void StopWorker(const std::string& session_id) override;

  // Ends the cells of sessions that have had no work for so long. Their directories stay; the next
  // turn makes the cell again. Never while a turn, an operator or a command is in the cell.
  void EndIdleCells(std::chrono::seconds idle);

  // Interrupts every turn that runs and returns when all have ended. Queued ones stay queued in
  // their records. Nothing is accepted afterwards.
  void Stop();

  size_t running_turns() const;
  const Runtime& runtime() const { return runtime_; }

 private:
  struct Active {
    std::string session_id;
    std::shared_ptr<SessionJob> job;
  };

  Status CheckOpen(const std::string& session_id) const;
  Status CopySession(const SessionRecord& record, SessionRecord copy);
  Status Enqueue(const std::string& job_id, const std::string& session_id,
                 std::shared_ptr<SessionJob> job,
                 scheduler::Admission admission = scheduler::Admission::kBounded);
  Status EnqueueAgain(const std::string& session_id);
  void Forget(const std::string& job_id);
  std::vector<Active> ActiveOf(const std::string& session_id) const;
  void RequestStop(const Active& active, turn::Ending ending);
  void StopJobs(const std::vector<Active>& jobs, turn::Ending ending);
  std::shared_ptr<SessionJob> MakeTurn(const std::string& session_id, const TurnRecord& turn,
                                       std::shared_ptr<event::Journal> journal, bool restored);
  Status EnqueueTurn(const std::string& session_id, const TurnRecord& turn,
                     std::shared_ptr<event::Journal> journal, scheduler::Admission admission);
  void OnDeadline(const std::string& turn_id);
  Result<TurnRecord> RecordQueued(const std::string& session_id, TurnRecord turn,
                                  const std::optional<Environment>& env);
  void ForgetTurn(const std::string& session_id, const std::string& turn_id);
  Result<std::string> CellForReading(const std::string& session_id);
  void ForgetCell(const std::string& session_id, const std::string& cell_id);
  bool IsIdle(const std::string& session_id, std::chrono::seconds idle);
  void EndIdleCell(const sandbox::Cell& cell, std::chrono::seconds idle);
  Result<std::string> OperatorCell(const std::string& session_id);
  Result<std::vector<std::string>> CopyAttachments(const Caller& caller,
                                                   const SessionRecord& record,
                                                   const std::vector<std::string>& paths,
                                                   const dialect::AgentSpec& from,
                                                   const dialect::AgentSpec& to);
  void TellCaller(const std::string& session_id, const std::string& turn_id);
  void MirrorToCallers(const std::string& session_id, event::Event event);
  Status RemoveCells(const SessionRecord& record);
  Status RemoveEverything(const SessionRecord& record);

  SetupCache setups_;
  const Runtime runtime_;
  mutable std::mutex mutex_;
  // All below: guarded by mutex_.
  bool stopping_ = false;
  std::set<std::string> deleting_;            // sessions
  std::set<std::string> kept_idle_;           // sessions
  std::map<std::string, Active> active_;      // queued or running, by turn id or hold id
  std::map<std::string, std::string> cells_;  // session → its latest cell
  // When a session's cell was last needed. Of a session that is not in it: not known yet.
  std::map<std::string, std::chrono::system_clock::time_point> used_at_;
  // Of the workers that run or are queued, by session.
  std::map<std::string, std::function<void(const WorkerEnd&)>> worker_ends_;

  scheduler::StrandPool pool_;  // its workers use everything above
  Deadlines deadlines_;         // last: its thread uses everything above
};

}  // namespace odyssey::session

#endif  // ODYSSEY_AGENTD_SESSION_SESSIONS_H_
