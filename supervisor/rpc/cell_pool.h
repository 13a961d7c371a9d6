#ifndef ODYSSEY_SUPERVISOR_RPC_CELL_POOL_H_
#define ODYSSEY_SUPERVISOR_RPC_CELL_POOL_H_

// Cells made ahead of need, for policies that are asked for again and again (ADR 0096). Each has
// its policy, its owner and a slot, and no key. For the loop's thread alone.
//
// Nothing of one user or session reaches another:
//   - no client can name a cell of the pool, so that it has run no command and no file operation
//     but the supervisor's own; the first one it runs is of the key that it gets;
//   - it is given to the owner for whom it was made, for a request that is equal in everything but
//     the key and values of the environment, which it gets with the first command;
//   - its directories are in memory, and its secrets none: a policy with providers has no pool.
// And it is what would be made now: not used, but ended, when the operator's ceiling, the mounts of
// the host, or one of the system's trees has changed since, or when it is older than the idle time.
// Of host directories it shows those alone that the client has identified (plan::Entry::inode),
// which root compared, and whose inode is not another's while the cell holds it.

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "supervisor/rpc/auditor.h"
#include "supervisor/rpc/ceiling_gate.h"
#include "supervisor/rpc/cell.h"
#include "supervisor/rpc/cell_spec.h"
#include "supervisor/rpc/event_loop.h"
#include "supervisor/rpc/host_state.h"
#include "supervisor/rpc/pool_demand.h"

namespace odyssey::supervisor {

using CellPtr = std::shared_ptr<Cell>;

// Whether cells of such an order can be made ahead.
bool IsPoolable(const CellOrder& order);

class CellPool final {
 public:
  // Of the table that the pool is in.
  struct Cells {
    std::function<Result<CellPtr>(const CellOrder& order)> launch;  // a cell without a key
    std::function<bool()> has_room;
  };

  // All pointers are borrowed.
  CellPool(EventLoop* loop, Auditor* auditor, CeilingGate* ceiling, MountTable* mounts,
           const PoolOptions& options, Cells cells);
  CellPool(const CellPool&) = delete;
  CellPool& operator=(const CellPool&) = delete;
  ~CellPool();

  // A cell for the order, which is the caller's now and has no key yet; it may still be launching.
  // null: there is none.
  CellPtr Take(const CellOrder& order);
  // A cell of this order was made or claimed: the next ones are made, in a moment.
  void OnAsked(const CellOrder& order);

  // A cell of the pool, or one that it has ended and that is not gone; null: neither.
  CellPtr Find(const std::string& cell_id) const;
  // One of them has another state.
  void OnChange();
  // Live cells need the room.
  void EndAll(const std::string& why);

  // Also those that are ending.
  size_t size() const { return cells_.size(); }
  const PoolOptions& options() const { return options_; }

 private:
  struct Policy {
    CellOrder order;  // of the last one that was asked for, without key and environment
    PoolDemand demand;
    bool making = false;  // Make is due
  };
  using PolicyPtr = std::shared_ptr<Policy>;
  struct Ahead {
    CellPtr cell;
    std::weak_ptr<Policy> policy;
    Clock::time_point began;
    bool was_ready = false;
    bool ending = false;
  };

  PolicyPtr FindPolicy(const CellOrder& order) const;
  void MakeLater(const PolicyPtr& policy);
  void Make(const PolicyPtr& policy);
  size_t CountOf(const PolicyPtr& policy) const;
  // Room for one cell of the policy, if need be in the place of another's.
  bool MakeRoom(const PolicyPtr& policy);
  template <typename F>
  void EndIf(const std::string& why, F unfit);
  void Look();
  void LookLater();

  EventLoop* const loop_;
  Auditor* const auditor_;
  CeilingGate* const ceiling_;
  MountTable* const mounts_;
  const PoolOptions options_;
  const Cells table_;
  std::list<PolicyPtr> policies_;  // the one asked for last first
  std::list<Ahead> cells_;         // the oldest first
  Clock::duration make_time_;      // from the demand to a slot: a running mean
  uint64_t look_timer_ = EventLoop::kNoTimer;
};

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_CELL_POOL_H_
