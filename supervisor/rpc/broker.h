#ifndef ODYSSEY_SUPERVISOR_RPC_BROKER_H_
#define ODYSSEY_SUPERVISOR_RPC_BROKER_H_

// What the supervisor does for its clients. gRPC's threads call it, and block until the loop has
// answered; compiling, and what reads host files, runs on their threads. Knows nothing of gRPC.

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "policy/compile/compile.h"
#include "policy/explain/denial.h"
#include "supervisor/rpc/audit_log.h"
#include "supervisor/rpc/auditor.h"
#include "supervisor/rpc/cell_table.h"
#include "supervisor/rpc/cell_view.h"
#include "supervisor/rpc/event_loop.h"
#include "supervisor/rpc/exec_request.h"
#include "supervisor/rpc/host_facts.h"
#include "supervisor/rpc/host_link.h"
#include "supervisor/rpc/linked_configuration.h"
#include "supervisor/rpc/metrics.h"
#include "supervisor/rpc/plan_cache.h"
#include "supervisor/rpc/root_client.h"
#include "supervisor/rpc/run_use.h"
#include "supervisor/wire/tool_wire.h"

namespace odyssey::supervisor {

// What a file operation came to, and what refused it.
struct FileAnswer {
  tool::Response response;
  std::optional<explain::Denial> denial;
};

// Of a cell's network policy.
struct EgressOrder {
  std::string cell_id;
  uint64_t expected_revision = 0;  // that has to be in force; 0: any
  uint32_t by_uid = 0;
};
// What someone asks for a cell.
struct CellChange {
  std::string cell_id;
  v1::CellChange change = v1::CELL_CHANGE_UNSPECIFIED;
  std::string reason;
  uint32_t by_uid = 0;
};
struct EgressSet {
  EgressRevision revision;  // that is in force now
  bool changed = false;
};

class Broker final {
 public:
  // All pointers are borrowed and must outlive the broker.
  Broker(RootClient* root, wire::Hello hello, compile::HostFacts facts, CeilingGate* ceiling,
         AuditLog* audit, const HostLink* host, const std::string& egress_socket,
         const PoolOptions& pool = {});

  // ── Any thread but the loop's; blocking ──

  // The cell is ready for commands when it returns. `created` says whether it was made.
  Result<CellView> Prepare(const PrepareSpec& spec, bool* created);
  // Fails as Prepare would if the operator does not allow the cell; makes nothing.
  Status Check(const PrepareSpec& spec);
  // `all`: as supervisor.proto says.
  std::vector<CellView> List(bool all);
  Result<CellView> Describe(const std::string& cell_id);
  // Until no process of the cell is left. For the peer `by_uid`.
  Status Remove(const std::string& cell_id, bool purge, uint32_t by_uid);
  // The cell as it is then. `keep` makes that outlive this supervisor, or forgets what did if the
  // view's phase is UNSPECIFIED, before it takes effect; one call at a time.
  Result<CellView> Change(const CellChange& change,
                          const std::function<Status(const CellView&)>& keep);
  // What an earlier supervisor kept. Before anything else.
  void Restore(CellView view);
  // Of a peer with `reporter_uid`. On disk when it returns.
  Status RecordApproval(const v1::RecordApprovalRequest& approval, uid_t reporter_uid);

  // A run to put files into or take them from; `run_id` empty: a new one. Errors name `field`.
  Result<std::unique_ptr<RunUse>> UseRun(const std::string& cell_id, std::string_view field,
                                         const std::string& run_id);
  // One that there is, also of an earlier cell with the same directories: whether it is still there
  // is for the file worker to say.
  Result<std::unique_ptr<RunUse>> UseOldRun(const std::string& cell_id, std::string_view field,
                                            const std::string& run_id);
  // A place in the cell outside of its runs. INVALID_ARGUMENT naming `field`.
  struct PlaceUse {
    AskWorker ask;
    std::string path;
  };
  Result<PlaceUse> UsePlace(const std::string& cell_id, const std::string& field,
                            const std::string& path);
  // Kills the command's processes; its sink is sent the outcome when none is left.
  Status CancelExec(const std::string& exec_id);
  Result<FileAnswer> FileOp(const std::string& cell_id, const tool::Request& request);

  // Of SandboxRequest::image. Before the first call; without one there is no image.
  void set_find_image(compile::FindImage find) { find_image_ = std::move(find); }
  const compile::FindImage& find_image() const { return find_image_; }

  // Until odyssey-egress decides by the policy. As supervisor/v1/egress.proto says.
  Result<EgressSet> SetEgress(const EgressOrder& order, const egress::NetworkPolicy& policy);
  Result<EgressSet> RollBackEgress(const EgressOrder& order, uint64_t revision);
  Result<EgressRevisions> EgressOf(const std::string& cell_id);

  // The plan of the cell of this key, as it would be made now: admitted and compiled, not started.
  Result<plan::Plan> PlanOf(const PrepareSpec& spec);
  // Ends the cell of this key and lets none be made for it until ReleaseKey. FAILED_PRECONDITION
  // while commands run in it, or another call holds the key.
  Status HoldKey(const CellKey& key);
  void ReleaseKey(const CellKey& key);
  bool IsLive(const CellKey& key);
  // Names of layers of images that cells have, also those that are launched or ending. Cells made
  // ahead of need end.
  std::set<std::string> LiveLayers();
  uint32_t live_cells();
  // What is counted, in Prometheus's text format. Asks odyssey-egress whether it answers.
  std::string CollectMetrics();
  // Of the host, as cells are compiled with now. May wait for the first look at /usr.
  std::shared_ptr<const compile::HostFacts> FactsNow();

  // ── The loop's thread ──

  // Starts a command, once audit()->Admit() allows it; `sink` must live until Exec::Detach.
  Result<std::shared_ptr<Exec>> StartExec(const v1::ExecStart& start, const std::string& exec_id,
                                          ExecSink* sink);

  // ── Any thread ──

  const wire::Hello& hello() const { return hello_; }
  const compile::HostFacts& facts() const { return facts_; }
  CeilingGate* ceiling() const { return ceiling_; }
  const HostLink* host() const { return host_; }
  RootClient* root() const { return root_; }  // for the loop's thread
  AuditLog* audit() const { return audit_; }
  Metrics* metrics() { return &metrics_; }
  const std::string& egress_socket() const { return egress_socket_; }
  EventLoop* loop() { return &loop_; }

  // The loop; returns when root is gone. Call from one long-lived thread.
  Status Run() { return loop_.Run(); }

 private:
  // Admits and compiles.
  Result<std::shared_ptr<CellOrder>> OrderOf(const PrepareSpec& spec, bool allow_danger);
  Result<compile::Compiled> CompileFor(const policy::SandboxRequest& request,
                                       const ceiling::Owner& owner);
  Result<CellView> PrepareAdmitted(const PrepareSpec& spec, bool* created);
  Status CheckAllowed(const PrepareSpec& spec);
  Status CheckOnHost(const Admission& admission);

  // On the loop. … to use it: PERMISSION_DENIED if the operator's ceiling has come to refuse what
  // it is.
  Result<CellPtr> FindAllowed(const std::string& cell_id, uint32_t wall_clock_ms = 0);
  FileAnswer Conclude(const Cell& cell, const tool::Request& request, tool::Response response);

  // FAILED_PRECONDITION: it has no egress.
  Result<CellPtr> FindWithEgress(const std::string& cell_id);
  // `choose`: the policy and its source, of what the cell has had.
  struct Chosen {
    egress::NetworkPolicy policy;
    std::string source;
    uint64_t repeats = 0;
  };
  Result<EgressSet> ChangeEgress(
      const EgressOrder& order,
      const std::function<Result<Chosen>(const EgressRevisions& had)>& choose);

  CellView ViewOf(const Cell& cell) const;
  Result<CellView> FindView(const std::string& cell_id);
  void Apply(const CellChange& change, const CellView& view, const Done<Status>& done);
  wire::CellUsage AskUsage(const CellPtr& cell);
  AskWorker MakeAsk(const CellPtr& cell);
  std::unique_ptr<RunUse> MakeUse(const CellPtr& cell, uint64_t run);

  RootClient* const root_;
  const wire::Hello hello_;
  const compile::HostFacts facts_;
  CeilingGate* const ceiling_;
  AuditLog* const audit_;
  const HostLink* const host_;
  const std::string egress_socket_;
  const bool pools_;
  Metrics metrics_;
  PlanCache plans_;
  compile::FindImage find_image_ = [](const policy::ImageRoot& image, const auto&, uint32_t) {
    return Result<compile::FoundImage>(
        Status(Code::kNotFound, "image " + image.reference + ": there is no store of images"));
  };
  LinkedConfiguration linked_;
  std::mutex facts_now_mutex_;
  std::shared_ptr<const compile::HostFacts> facts_now_;             // guarded by it
  std::shared_ptr<const LinkedConfiguration::Shown> facts_now_of_;  // likewise
  MountTable mounts_;
  EventLoop loop_;
  Auditor auditor_;
  CellTable cells_;
  std::mutex changing_;
};

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_BROKER_H_
