#ifndef ODYSSEY_SUPERVISOR_RPC_CELL_H_
#define ODYSSEY_SUPERVISOR_RPC_CELL_H_

// One cell: the conversation with its cell-init, or with the host runner, and what it runs. For the
// loop's thread alone. What a cell sends is not trusted, and is of this cell only.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/base/time_text.h"
#include "common/os/message_socket.h"
#include "common/os/unique_fd.h"
#include "policy/explain/explain.h"
#include "supervisor/rpc/auditor.h"
#include "supervisor/rpc/cell_egress.h"
#include "supervisor/rpc/cell_spec.h"
#include "supervisor/rpc/cell_view.h"
#include "supervisor/rpc/event_loop.h"
#include "supervisor/rpc/exec.h"
#include "supervisor/rpc/exec_request.h"
#include "supervisor/rpc/file_worker.h"
#include "supervisor/rpc/root_client.h"
#include "supervisor/rpc/run_list.h"
#include "supervisor/rpc/slot_pool.h"
#include "supervisor/wire/cell_wire.h"

namespace odyssey::supervisor {

class Cell final : public ExecHost, public std::enable_shared_from_this<Cell> {
 public:
  enum class State {
    kLaunching,
    kReady,
    kEnding,  // its processes are being killed
    kGone,    // none is left
  };

  // `loop` and `auditor` are borrowed. `on_change`: state() has another value.
  Cell(EventLoop* loop, Auditor* auditor, CellFacts facts, std::function<void()> on_change);

  const CellFacts& facts() const { return facts_; }
  // Facts that may change while it lives: what its next command gets, and what admits it.
  void SetEnv(std::map<std::string, std::string> env) { facts_.env = std::move(env); }
  // Of its policy with egress. What was asked for last time changes nothing. True: the policy is a
  // new revision, which is in force once it is loaded.
  bool SetEgress(const policy::SandboxRequest& asked);
  // Gives one that was made ahead the key for which it was asked, and all else of `facts` but what
  // was made.
  void Claim(CellFacts facts);
  // null: it has no egress.
  CellEgress* egress() const { return egress_.get(); }
  // It is being launched, or its providers have not been looked up.
  bool unsettled() const {
    return state_ == State::kLaunching || (state_ == State::kReady && egress_ && !egress_->ready());
  }
  // False: it was in force already.
  bool SetEgressPolicy(const egress::NetworkPolicy& policy, const EgressChange& change);
  void SetAdmission(Admission admission) { facts_.admission = std::move(admission); }
  Admission* admission() { return &facts_.admission; }

  State state() const { return state_; }
  // Of its processes alone: what was said of its key is the table's (cell_standings.h).
  Standing standing() const;
  // Without its usage.
  CellView View() const;
  // Freezes its processes, or lets them go on. What waits for them waits longer; no deadline of a
  // command passes. FAILED_PRECONDITION: it is not ready, or root gave no means.
  Status Freeze(bool frozen);
  // Why it never became ready, or ended; OK if that is not known.
  const Status& failure() const { return failure_; }
  bool busy() const { return slots_.busy(); }
  // Nothing runs in it any more, but for what is left of commands that have their outcome.
  bool finishing() const { return slots_.finishing(); }
  // The command of this id that runs or waits for a slot; null: none, or it has its outcome.
  std::shared_ptr<Exec> FindExec(const std::string& exec_id) const { return slots_.Find(exec_id); }
  uint32_t running_execs() const { return static_cast<uint32_t>(slots_.running()); }
  explain::Cell Known() const { return {facts_.request, facts_.compiled}; }

  // Root makes and ends it, or the host runner by a connection for this cell alone, which the cell
  // reads. `plan` is what that provider launches.
  Status LaunchBy(RootClient* root, const std::string& plan);
  Status LaunchBy(std::shared_ptr<RootClient> host, const std::string& plan);
  // Before it is launched, where its network is egress. UNAVAILABLE: odyssey-egress does not serve.
  Status OpenEgress(const std::string& broker_socket);
  // It cannot be launched at all.
  void FailLaunch(Status why);
  // Kills its processes; OnGone follows. `why`: sent to callers that wait for it to be ready.
  Status Kill(bool purge, const Status& why);
  // No process of it is left. OK: it ended in order.
  void OnGone(Status why);

  // Starts a command, or queues it until there is a slot for it. `sink` must live until
  // Exec::Detach. Errors name the field of ExecStart.
  Result<std::shared_ptr<Exec>> StartExec(const v1::ExecStart& start, const std::string& exec_id,
                                          ExecSink* sink);
  // The kernel's counts, of root.
  void AskUsage(const Done<wire::CellUsage>& done);

  // One file operation, as FileWorker::Ask.
  void AskWorker(const tool::Request& request, FileWorker::Answer answer);
  // The same for rpc's own requests: an answer that carries an error is one.
  void AskOwn(const tool::Request& request, const FileWorker::Answer& answer);

  // A run in use until ReleaseRun: a new one, or one that this cell had, also in an earlier life.
  Result<uint64_t> UseRun(std::string_view field, const std::string& run_id);
  Result<uint64_t> UseOldRun(std::string_view field, const std::string& run_id);
  void ReleaseRun(uint64_t run);

  // ExecHost.
  void Watch(Exec* exec, int fd, Source source, bool writable) override;
  void SetTimer(Exec* exec) override;
  void AskUsage(Exec* exec) override;
  bool AwaitDecisions(Exec* exec) override;
  std::shared_ptr<RunOutput> MakeCopy(Exec* exec, Stream stream) override;
  std::vector<explain::Denial> Conclude(const ExecOptions& options, Outcome* outcome,
                                        std::string_view stderr_tail) override;
  void OnLeftQueue(Exec* exec) override;
  void OnOverdue() override;

 private:
  void SetState(State state);
  void Close();
  RootClient::LaunchedCallback OnLaunched();
  void OnLaunched(const wire::Launched& launched, std::vector<UniqueFd> fds);
  void OnReadable();
  void OnMessage(Message message);
  void OnSlotReady(const cell::SlotReady& slot, Message message);
  void OnSlotGone(const cell::SlotGone& gone);
  void OnError(const cell::CellError& error);
  Status AskForWays();
  void WriteCertificates();
  void TakeEarlySlots();
  void EndLaunch(Status why);
  void OnExecEnded(const ExecOptions& options);
  void NoteIdle();

  Result<uint64_t> TakeRun(std::string_view field, const std::string& run_id);
  // Removes old runs, in at most `rounds` requests; `left` is what the last answer counted.
  void Trim(int rounds, uint32_t left);
  void EndUnused();
  void EndUnusedLater();
  void KeepUnused();

  EventLoop* const loop_;
  Auditor* const auditor_;
  CellFacts facts_;
  // Of the facts, for records of odyssey-egress: they come also when the cell is not there any
  // more.
  const std::shared_ptr<CellKey> key_;
  const std::function<void()> on_change_;
  const uint64_t group_;  // of the loop: cell-init's socket, the host runner's connection
  std::shared_ptr<RootClient> host_;  // its own provider; root is another's
  RootClient* provider_ = nullptr;
  State state_ = State::kLaunching;
  bool was_ready_ = false;
  Status failure_;
  UniqueFd socket_;                   // cell-init's
  UniqueFd freezer_;                  // cgroup.freeze of its group
  std::string since_ = Rfc3339Now();  // of its phase
  std::string first_exec_;            // of a single-use cell, the command that it is for
  SlotPool slots_;
  FileWorker worker_;
  std::shared_ptr<CellEgress> egress_;  // none: no egress
  bool writes_certificates_ = false;    // until they are written
  std::vector<std::pair<cell::SlotReady, Message>>
      early_slots_;  // that came before egress was ready
  RunList runs_;
  uint64_t unused_timer_ = EventLoop::kNoTimer;  // of a single-use cell
  uint64_t oom_seen_ = 0, pids_seen_ = 0;        // as of the last time that usage was asked for
};

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_CELL_H_
