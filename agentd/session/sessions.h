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

#include "agentd/mcp_client/servers.h"
#include "agentd/scheduler/strand_pool.h"
#include "agentd/session/cell_policy.h"
#include "agentd/session/cell_quota.h"
#include "agentd/session/deadlines.h"
#include "agentd/session/job_records.h"
#include "agentd/session/operator_hold.h"
#include "agentd/session/operator_policy.h"
#include "agentd/session/retention.h"
#include "agentd/session/runtime.h"
#include "agentd/session/session_grants.h"
#include "agentd/session/session_job.h"
#include "agentd/session/session_store.h"
#include "agentd/session/setup_cache.h"
#include "agentd/session/worker_call.h"
#include "agentd/session_file/session_file.h"
#include "odyssey/agent/v1/session.pb.h"
#include "policy/ceiling/ceiling.h"
#include "policy/dialect/ceiling_directory.h"

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
  bool review = false;               // host directories are written on a copy
  uint64_t approval_timeout_ms = 0;  // 0: the operator's
  policy::Budget budget = {};
  // Of an imported session.
  std::string created_at;  // empty: now
  std::vector<TurnRecord> turns;
};

struct Compacted {
  uint64_t events = 0;
  uint64_t bytes = 0;  // of the journal and the turns
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
    Retention retention;
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
  // The tools that its agent's model is offered, those of its bundle's MCP servers among them:
  // these are started for it.
  Result<std::vector<model::ToolSpec>> OfferedTools(const std::string& session_id);
  // The servers of its bundle, listed anew, and started for it.
  Result<std::vector<mcp_client::ServerPtr>> ListServers(const std::string& session_id);
  std::vector<SessionPtr> List() const;
  // Ends the session's turns, then removes its cells with their directories, approvals, journal and
  // record. On failure what is left can be deleted again.
  Status Delete(const std::string& session_id);
  // Removes from the store of bundles what no session and no installation uses.
  void CollectBundles() const;

  // A second session from the same state: its turns, and its cell's directories with the changes in
  // them. FAILED_PRECONDITION while something is queued or runs in the session.
  Result<SessionPtr> Fork(const std::string& session_id);
  // A session with the history of the file: an ordinary one of its owner, with a new id. The turns
  // keep theirs. `spec.bundle` empty: the file's reference, which may not be a path.
  Result<SessionPtr> Import(NewSession spec, const session_file::SessionFile& file);
  // The session as a file: its turns that have a history and have ended.
  Result<session_file::SessionFile> Export(const std::string& session_id) const;

  // Removes the events of turns, but those of the last ones. FAILED_PRECONDITION while something is
  // queued or runs in the session.
  Result<Compacted> Compact(const std::string& session_id, uint32_t keep_turns);
  // Removes what the operator's bounds do not keep of the sessions without work. Returns what could
  // not be done, for the log.
  std::vector<std::string> ApplyRetention();

  // Calls `work` while nothing is queued or runs in the session, and nothing is accepted for it.
  // FAILED_PRECONDITION if something is.
  Status WhileIdle(const std::string& session_id, const std::function<Status()>& work);

  // The turn is recorded and queued when this returns. RESOURCE_EXHAUSTED: the queue is full.
  // `env` takes the place of the session's. Of a key that the session has seen: the turn that it
  // made; FAILED_PRECONDITION if that has another prompt. Likewise where the budget is used up.
  Result<Submitted> Submit(const std::string& session_id, const std::string& prompt,
                           const std::optional<Environment>& env = std::nullopt,
                           const TurnTerms& terms = {});
  Result<TurnRecord> GetTurn(const std::string& session_id, const std::string& turn_id) const;
  // Returns when the turn has ended; false: it had ended already. Empty turn_id: the running one.
  Result<bool> Cancel(const std::string& session_id, const std::string& turn_id);

  Result<std::shared_ptr<event::Journal>> JournalOf(const std::string& session_id) const;

  // Queues a hold behind the session's turns. The worker thread that runs it prepares a cell and
  // passes its id, or the error, to `on_held`, which is called once: the session's own cell with
  // the standard executables, or, with `policy`, a cell under that policy, which agentd removes
  // when the hold ends. After a cell's id the caller must Release the hold.
  Result<std::shared_ptr<OperatorHold>> Hold(
      const std::string& session_id, std::function<void(Result<std::string>)> on_held,
      const std::optional<OperatorPolicy>& policy = std::nullopt);
  // Whether Hold would be given a cell under that policy, as far as the ceiling is concerned.
  Status CheckOperatorPolicy(const std::string& session_id, const OperatorPolicy& policy);
  // The operator has gone: ends a hold that waits, and requests the stop of one that is held.
  void StopHold(const std::string& session_id, const std::shared_ptr<OperatorHold>& hold);

  Result<supervisor::v1::FileReadResult> ReadFile(const std::string& session_id,
                                                  const std::string& path, uint64_t offset,
                                                  uint64_t max_bytes);

  Result<std::string> StartWorker(const Caller& caller, const tools::WorkerCall& call,
                                  std::function<void(const WorkerEnd&)> on_end) override;
  void StopWorker(const std::string& session_id) override;

  // Of background jobs, oldest first.
  Result<std::vector<agent::v1::Job>> ListJobs(const std::string& session_id) const;
  // Returns when no process of the job is left.
  Result<agent::v1::Job> StopJob(const std::string& session_id, const std::string& job_id);

  // What approvals have added to the session's cell, beyond one call.
  std::vector<SessionGrant> GrantsOf(const std::string& session_id) const;
  // From the next call on the cell is without it.
  Status RevokeGrant(const std::string& session_id, const std::string& grant_id, uint32_t by_uid);

  // What the policy of the session's next command comes to.
  Result<CellPolicy> PolicyOf(const std::string& session_id);
  // In force in the session's cell. Nothing: there is no such session, its cell is under an
  // operator's policy, or the session cannot run.
  std::optional<policy::Limits> LimitsOfCell(const std::string& session_id);

  // Ends the cells of sessions that have had no work for so long. Their directories stay; the next
  // turn makes the cell again. Never while a turn, an operator or a command is in the cell; a job
  // is a command.
  void EndIdleCells(std::chrono::seconds idle);

  // From now on neither sessions, turns nor operators are accepted: UNAVAILABLE. What runs goes on,
  // the turns of its workers included; queued turns stay queued in their records.
  void BeginDrain();
  bool draining() const;
  // Nothing is queued and nothing runs.
  bool IsQuiet() const;

  // Interrupts every turn that runs and returns when all have ended. Queued ones stay queued in
  // their records. Nothing is accepted afterwards.
  void Stop();

  size_t running_turns() const;

  // What the user has in use, and the operator's bounds for it; and whether there is room on disk.
  Result<agent::v1::GetQuotaResponse> GetQuota(uint32_t owner) const;
  Status CheckDiskQuota(uint32_t owner) const;

  const Runtime& runtime() const { return runtime_; }

 private:
  struct Active {
    std::string session_id;
    std::shared_ptr<SessionJob> job;
  };

  Status CheckOpen(const std::string& session_id) const;
  Status CheckNotDraining() const;
  Status AddRecord(SessionRecord record);
  Status CheckTurnQuota(const ceiling::Quota& quota, uint32_t owner) const;
  uint64_t CountTurns(uint32_t owner) const;
  bool IsWorker(const std::string& session_id) const;
  std::set<std::string> SessionsOfClients() const;
  void LeaveQueued(const std::string& session_id);
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
                                       std::shared_ptr<event::Journal> journal);
  Status EnqueueTurn(const std::string& session_id, const TurnRecord& turn,
                     std::shared_ptr<event::Journal> journal, scheduler::Admission admission);
  void OnDeadline(const std::string& turn_id);
  Result<TurnRecord> RecordQueued(const std::string& session_id, TurnRecord turn,
                                  const std::optional<Environment>& env);
  void ForgetTurn(const std::string& session_id, const std::string& turn_id);
  Result<std::string> CellForReading(const std::string& session_id);
  void ForgetCell(const std::string& session_id, const std::string& cell_id);
  Result<Compacted> RemoveEvents(const std::string& session_id, uint64_t through,
                                 const char* reason);
  Status Retain(const std::string& session_id);
  bool IsIdle(const std::string& session_id, std::chrono::seconds idle);
  void EndIdleCell(const sandbox::Cell& cell, std::chrono::seconds idle);
  // Of a job in the session's queue, which holds its cell.
  Status EndCell(const sandbox::Cell& cell);
  std::function<void()> ForgetActive(const std::string& job_id);
  bool EndCellIfFree(const sandbox::Cell& cell);
  bool EndIdlestCell(const std::vector<sandbox::Cell>& cells);
  Result<std::string> OperatorCell(const std::string& session_id);
  void EndOwnCell(const std::string& session_id, const std::string& cell_id);
  Result<std::string> CellUnder(const std::string& session_id, const OperatorPolicy& policy);
  Result<std::vector<std::string>> CopyAttachments(const Caller& caller,
                                                   const SessionRecord& record,
                                                   const std::vector<std::string>& paths,
                                                   const dialect::AgentSpec& from,
                                                   const dialect::AgentSpec& to);
  void TellCaller(const std::string& session_id, const std::string& turn_id);
  void MirrorToCallers(const std::string& session_id, event::Event event);
  Status RemoveCells(const SessionRecord& record);
  Status RemoveEverything(const SessionRecord& record);

  Status CheckNoJob(const std::string& session_id) const;
  Result<mcp_client::Place> PlaceOfServers(const std::string& session_id, const TurnSetup& setup);
  // Whether nothing runs in the cell but servers, which are started again in the next one.
  bool IsUnused(const sandbox::Cell& cell) const;
  void Touch(const std::string& session_id);

  Result<TurnSetup> SetupWithGrants(const std::string& session_id);

  SetupCache setups_;
  CellQuota cell_quota_;
  StoredJobs job_records_;
  job::Jobs jobs_;
  SessionGrants grants_;
  mcp_client::Servers servers_;
  dialect::CeilingFiles ceiling_;
  const Runtime runtime_;
  std::mutex adding_;  // held while what is bounded is counted and added; taken before mutex_
  const Retention retention_;
  mutable std::mutex mutex_;
  // All below: guarded by mutex_.
  bool stopping_ = false;
  bool draining_ = false;
  std::set<std::string> deleting_;            // sessions
  std::set<std::string> kept_idle_;           // sessions
  std::set<std::string> own_policy_;          // sessions whose cell is under an operator's policy
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
