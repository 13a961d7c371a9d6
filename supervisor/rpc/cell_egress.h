#ifndef ODYSSEY_SUPERVISOR_RPC_CELL_EGRESS_H_
#define ODYSSEY_SUPERVISOR_RPC_CELL_EGRESS_H_

// A cell's network through odyssey-egress: the policies that it has had, what its commands find in
// the environment for secrets, and what was decided while they ran. For the loop's thread alone.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "odyssey/supervisor/v1/supervisor.pb.h"
#include "policy/explain/denial.h"
#include "supervisor/rpc/cell_spec.h"
#include "supervisor/rpc/egress_link.h"
#include "supervisor/rpc/egress_revisions.h"
#include "supervisor/rpc/event_loop.h"

namespace odyssey::supervisor {

class CellEgress final : public std::enable_shared_from_this<CellEgress> {
 public:
  // What is told also when the cell has ended.
  struct Recorder {
    std::function<void(const egress_wire::Record&)> on_record;
    std::function<void(const egress_wire::Traffic&)> on_traffic;  // bytes since the last call
  };

  // `loop` is borrowed; `on_ready`: ready() has become true.
  CellEgress(EventLoop* loop, Recorder recorder, std::function<void()> on_ready);

  // UNAVAILABLE: odyssey-egress does not serve on `broker_socket`.
  Status Open(const CellFacts& cell, const std::string& broker_socket);
  // Decisions that are awaited still come.
  void Close();

  // Whom the cell's programs trust: its own authority and the host's (PEM).
  const std::string& certificates() const { return certificates_; }
  // The names of its providers have their placeholders, or an error.
  bool ready() const { return ready_; }
  bool connected() const { return link_->connected(); }
  // Of the providers, once it is ready: the first error.
  const Status& failure() const { return failure_; }
  // Placeholders by the variable that has them.
  const std::map<std::string, std::string>& env() const { return env_; }

  void SetProviders(uint32_t owner_uid, const std::vector<std::string>& names);

  // False: the policy was in force already.
  bool SetPolicy(const egress::NetworkPolicy& policy, const EgressChange& change);
  // When odyssey-egress decides by the revision in force, or a later one. UNAVAILABLE: not in 5 s.
  void AwaitLoaded(const std::function<void(const Status&)>& done);
  const EgressRevisions& revisions() const { return revisions_; }

  // What cell-init is to open, and has opened.
  cell::OpenEgress Ways() const;
  void AddWay(const cell::EgressWay& way, UniqueFd fd) { link_->AddWay(way, std::move(fd)); }

  // No command runs that they are about.
  void ForgetDecisions();
  // Calls `done` when each decision on what the cell's commands have asked for is known: a command
  // may have its answer, and end, before the record of it has come. At the latest after half a
  // second. False: odyssey-egress does not serve, and none is awaited.
  bool AwaitDecisions(std::function<void()> done);
  // Bytes in the cell's life, and the connections that are open; at most a second old.
  const egress_wire::Traffic& traffic() const { return traffic_; }

  // What was decided since: to the outcome of a command, and what was refused as denials.
  void Describe(v1::ExecOutcome* outcome, std::vector<explain::Denial>* denials) const;

 private:
  void OnDecision(const egress_wire::Record& record);
  void OnTraffic(const egress_wire::Traffic& more);
  void OnLoaded(const uint64_t& revision);
  void OnPlaceholders(const egress_wire::Placeholders& placeholders);
  void OnSynced(const uint64_t& number);

  struct Waiter {
    std::function<void()> done;
    uint64_t timer;
  };

  EventLoop* const loop_;
  const Recorder recorder_;
  const std::function<void()> on_ready_;
  std::shared_ptr<EgressLink> link_;
  EgressRevisions revisions_;
  std::string certificates_;
  std::map<std::string, std::string> env_;
  bool ready_ = true;
  Status failure_;
  std::vector<std::function<void(const Status&)>> waiting_;  // for the revision in force
  uint64_t timer_ = EventLoop::kNoTimer;
  std::map<uint64_t, Waiter> waiters_;  // for decisions, by the number of their Sync
  uint64_t last_sync_ = 0;
  std::vector<egress_wire::Record> decisions_;  // the first ones
  uint64_t decided_ = 0;                        // all
  egress_wire::Traffic traffic_;
};

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_CELL_EGRESS_H_
