#ifndef ODYSSEY_SUPERVISOR_RPC_BROKER_H_
#define ODYSSEY_SUPERVISOR_RPC_BROKER_H_

// The cells of this supervisor and what runs in them. One thread runs the loop that reads root, the
// cells and the commands' output; requests come from gRPC's threads. Knows nothing of gRPC.

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/os/unique_fd.h"
#include "policy/compile/compile.h"
#include "policy/executables/finder.h"
#include "policy/explain/denial.h"
#include "policy/explain/explain.h"
#include "policy/plan/tool_wire.h"
#include "supervisor/rpc/audit_log.h"
#include "supervisor/rpc/cell.h"
#include "supervisor/rpc/cell_view.h"
#include "supervisor/rpc/event_loop.h"
#include "supervisor/rpc/exec_request.h"
#include "supervisor/rpc/exec_session.h"
#include "supervisor/rpc/host_facts.h"
#include "supervisor/rpc/host_link.h"
#include "supervisor/rpc/root_client.h"
#include "supervisor/rpc/run_use.h"

namespace odyssey::supervisor {

struct PrepareSpec {
  CellKey key;
  policy::SandboxRequest sandbox;
  std::string bundle_digest;
  std::string sources_digest;
  bool single_use = false;
  uint32_t owner_uid = 0;     // on whose behalf
  bool allow_danger = false;  // the person's own word
  bool spare_running = false;
};

// What a file operation came to, and what refused it.
struct FileAnswer {
  tool::Response response;
  std::optional<explain::Denial> denial;
};

class Broker final {
 public:
  // `root`, `ceiling`, `audit` and `host` are borrowed and must outlive the broker.
  Broker(RootClient* root, wire::Hello hello, compile::HostFacts facts, CeilingGate* ceiling,
         AuditLog* audit, const HostLink* host);

  // Blocking; the cell is ready for commands when it returns. `created` says whether it was made.
  Result<CellView> Prepare(const PrepareSpec& spec, bool* created);
  // Blocking. Fails as Prepare would if the operator does not allow the cell; makes nothing.
  Status Check(const PrepareSpec& spec);
  std::vector<CellView> List();
  Result<CellView> Describe(const std::string& cell_id);
  // Blocking until nothing of the cell is left.
  Status Remove(const std::string& cell_id, bool purge);

  // Starts a command; `sink` must live until ExecSession::Detach.
  Result<std::shared_ptr<ExecSession>> Exec(const ExecSpec& spec, ExecSink* sink);

  // Blocking.
  // A run to put files into or take them from; `run_id` empty: a new one. Errors name `field`.
  Result<std::unique_ptr<RunUse>> UseRun(const std::string& cell_id, std::string_view field,
                                         const std::string& run_id);
  // One that there is, also of an earlier cell with the same directories: whether it is still there
  // is for the file worker to say.
  Result<std::unique_ptr<RunUse>> UseOldRun(const std::string& cell_id, std::string_view field,
                                            const std::string& run_id);
  Result<FileAnswer> FileOp(const std::string& cell_id, const tool::Request& request);

  // The plan of the cell of this key, as it would be made now: admitted and compiled, not started.
  Result<plan::Plan> PlanOf(const PrepareSpec& spec);
  // Ends the cell of this key and lets none be made for it until ReleaseKey. FAILED_PRECONDITION
  // while commands run in it, or another call holds the key.
  Status HoldKey(const CellKey& key);
  void ReleaseKey(const CellKey& key);
  bool IsLive(const CellKey& key);

  uint32_t live_cells();
  const wire::Hello& hello() const { return hello_; }
  const compile::HostFacts& facts() const { return facts_; }
  CeilingGate* ceiling() const { return ceiling_; }
  const HostLink* host() const { return host_; }
  RootClient* root() const { return root_; }
  AuditLog* audit() const { return audit_; }

  // The loop; returns when root is gone. Call from one long-lived thread.
  Status Run();

 private:
  using CellPtr = std::shared_ptr<Cell>;
  using Lock = std::unique_lock<std::mutex>;

  // Requests.
  Result<CellPtr> FindCell(const std::string& cell_id);
  // … to use it: PERMISSION_DENIED if the operator's ceiling has come to refuse what it is.
  Result<CellPtr> FindAllowed(const std::string& cell_id, uint32_t wall_clock_ms = 0);
  Result<compile::Compiled> CompileFor(const policy::SandboxRequest& request,
                                       const ceiling::Owner& owner);
  Result<CellView> PrepareAdmitted(const PrepareSpec& asked, bool* created);
  Status CheckAllowed(const PrepareSpec& spec);
  Result<CellPtr> PrepareLocked(Lock& lock, const PrepareSpec& spec, compile::Compiled compiled,
                                bool* created);
  Result<std::shared_ptr<ExecSession>> ExecAdmitted(const ExecSpec& spec, ExecSink* sink);
  Result<CellPtr> Launch(const PrepareSpec& spec, compile::Compiled compiled, uint32_t revision);
  Status StartInRoot(const PrepareSpec& spec, const CellPtr& cell);
  Status AwaitReady(Lock& lock, Cell* cell, uint32_t owner_uid);
  // `why` is what those are told who wait for it to be ready.
  Status EndAndWait(Lock& lock, const CellPtr& cell, bool purge, const std::string& why);
  Result<std::shared_ptr<UniqueFd>> AwaitTools(Lock& lock, const CellPtr& cell);
  Result<tool::Response> Ask(const CellPtr& cell, const tool::Request& request);
  CellView View(const Cell& cell);
  wire::CellUsage AskUsage(const Cell& cell);

  // What is recorded.
  void RecordPrepared(const Cell& cell, const PrepareSpec& spec, bool created);
  ExecSession::Conclude ConclusionOf(const CellPtr& cell);
  static explain::Cell Known(const Cell& cell);
  FileAnswer RecordFileOp(const Cell& cell, const tool::Request& request, tool::Response response);

  // Events.
  void OnLaunched(const CellPtr& cell, const wire::Launched& launched, UniqueFd socket);
  void OnGone(const wire::Gone& gone);
  void OnCellReadable(const CellPtr& cell);
  void OnCellMessage(const CellPtr& cell, Message message);
  void OnSlotReady(const CellPtr& cell, const cell::SlotReady& slot, Message message);
  void OnSlotGone(const CellPtr& cell, const cell::SlotGone& gone);
  static void ForgetSlots(Cell* cell);
  void OnCellError(const CellPtr& cell, const cell::CellError& error);
  void OnToolsReady(Cell* cell, UniqueFd tools);
  void OnToolsFailed(Cell* cell, const cell::CellError& error);
  void EndSingleUse(Cell* cell);
  void EndOverdue(const CellPtr& cell);
  static std::vector<std::shared_ptr<ExecSession>> TakeExpired(Cell* cell, Clock::time_point now,
                                                               Clock::time_point* next);
  Clock::time_point RunDeadlines(Clock::time_point now);

  // Cells on the host.
  Status StartOnHost(const CellPtr& cell, uint32_t owner_uid);
  Status CheckOnHost(const Admission& admission);
  void OnHostReadable(const CellPtr& cell);
  void LetGoOfHost(Cell* cell);

  // Of a single-use cell, as supervisor.proto says.
  static constexpr auto kUnusedTimeout = std::chrono::seconds(30);

  // Runs.
  AskWorker WorkerOf(const CellPtr& cell);
  Result<uint64_t> TakeRun(const CellPtr& cell, std::string_view field, const std::string& run_id);
  void ReleaseRun(const CellPtr& cell, uint64_t run);
  std::unique_ptr<RunUse> MakeUse(const CellPtr& cell, uint64_t run);
  ExecSession::MakeCopy CopiesOf(const CellPtr& cell, const std::shared_ptr<ExecSession>& session);
  void TrimRuns(const CellPtr& cell);
  void OnCommandEnd(Cell* cell, const ExecSession& session);
  void EndUnusedLater(Cell* cell);

  // Slots kept ready in an idle cell. One: a second would cost every idle cell two more processes
  // and help only commands that start within the same millisecond.
  static constexpr size_t kReadySlots = 1;
  void LetSlotsGo(Cell* cell, Clock::time_point now);
  void WantSlots(Cell* cell);
  void UseSlot(const CellPtr& cell, ReadySlot slot);
  std::shared_ptr<ExecSession> TakeRunning(Cell* cell, uint64_t slot);
  void StartInSlot(const CellPtr& cell, ReadySlot slot, std::shared_ptr<ExecSession> session);

  RootClient* const root_;
  const wire::Hello hello_;
  const compile::HostFacts facts_;
  CeilingGate* const ceiling_;
  AuditLog* const audit_;
  const HostLink* const host_;
  executables::Finder finder_;
  EventLoop loop_;

  std::mutex mutex_;
  std::condition_variable changed_;          // a cell's state or tools
  std::map<std::string, CellPtr> cells_;     // by id: launching, ready or ending
  std::set<std::string> recorded_policies_;  // digests
  std::set<CellKey> held_keys_;
};

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_BROKER_H_
