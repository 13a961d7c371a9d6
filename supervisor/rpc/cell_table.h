#ifndef ODYSSEY_SUPERVISOR_RPC_CELL_TABLE_H_
#define ODYSSEY_SUPERVISOR_RPC_CELL_TABLE_H_

// The cells of this supervisor: finds them by id and by key, has them launched, and ends them. For
// the loop's thread alone; what takes time answers by its last argument.

#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "common/base/status.h"
#include "supervisor/rpc/auditor.h"
#include "supervisor/rpc/cell.h"
#include "supervisor/rpc/cell_pool.h"
#include "supervisor/rpc/cell_view.h"
#include "supervisor/rpc/event_loop.h"
#include "supervisor/rpc/host_link.h"
#include "supervisor/rpc/root_client.h"

namespace odyssey::supervisor {

struct PreparedCell {
  CellPtr cell;
  bool created = false;
};

class CellTable final {
 public:
  // All are borrowed. `cells_directory`: of the trees that last, as root said; `broker_socket`: of
  // odyssey-egress. `max_cells`: that root makes; 0: not known.
  struct Wiring {
    EventLoop* loop;
    RootClient* root;
    const HostLink* host;
    Auditor* auditor;
    CeilingGate* ceiling;
    MountTable* mounts;
    std::string cells_directory;
    std::string broker_socket;
    uint32_t max_cells = 0;
  };
  CellTable(Wiring wiring, const PoolOptions& pool);

  // NOT_FOUND also for one that is ending.
  Result<CellPtr> Find(const std::string& cell_id) const;
  CellPtr FindByKey(const CellKey& key) const;
  // Also one that is ending.
  CellPtr FindAny(const std::string& cell_id) const;
  const std::map<std::string, CellPtr>& all() const { return cells_; }
  // Those that were made ahead and have no key.
  size_t ahead() const { return pool_.size(); }
  void EndAhead(const std::string& why) { pool_.EndAll(why); }
  // The last that ended, oldest first.
  const std::deque<CellView>& ended() const { return ended_; }

  // What was said of cells, by key: suspended, quarantined or stopped. It outlives the cell. The
  // view is of the cell as it was then.
  std::map<CellKey, CellView>& standings() { return standings_; }
  Standing StandingOf(const Cell& cell) const;
  // FAILED_PRECONDITION, with the reason, if something was said of this key: nothing is to run.
  Status CheckMayRun(const CellKey& key) const;

  // The cell of the key, ready for commands: the one that lives if it is the same, else a new one
  // in its place.
  void Prepare(const std::shared_ptr<CellOrder>& order, const Done<Result<PreparedCell>>& done);
  // Ends the cell; answers when no process of it is left. `why`: sent to callers that wait for it
  // to be ready.
  void End(const CellPtr& cell, bool purge, const std::string& why, const Done<Status>& done);

  // Ends the cell of this key and lets none be made for it until Release. FAILED_PRECONDITION
  // while commands run in it, another call holds the key, or CheckMayRun fails.
  void Hold(const CellKey& key, const Done<Status>& done);
  void Release(const CellKey& key);

 private:
  void HoldIdle(const CellKey& key, const Done<Status>& done);
  // Waits until `over` is true, or `timeout` has passed.
  struct Waiter {
    std::function<bool()> over;
    std::function<void(bool in_time)> then;
    uint64_t timer = EventLoop::kNoTimer;
  };
  static constexpr auto kForever = Clock::duration::max();
  void Await(Clock::duration timeout, std::function<bool()> over,
             std::function<void(bool in_time)> then);
  void OnChange();
  void RunWaiters();

  void PrepareAfter(const std::shared_ptr<CellOrder>& order, uint32_t revision,
                    const Done<Result<PreparedCell>>& done);
  // One that was made ahead, or else a new one.
  Result<CellPtr> ClaimOrLaunch(const CellOrder& order, uint32_t revision);
  Result<CellPtr> Launch(CellFacts facts, const CellOrder& order);
  bool IsNearlyFull() const;
  void LaunchOnHost(const CellPtr& cell, uint32_t owner_uid);
  void AwaitReady(const std::shared_ptr<CellOrder>& order, const CellPtr& cell, bool created,
                  const Done<Result<PreparedCell>>& done);

  EventLoop* const loop_;
  RootClient* const root_;
  const HostLink* const host_;
  Auditor* const auditor_;
  const std::string cells_directory_;
  const std::string broker_socket_;
  const uint32_t max_cells_;
  CellPool pool_;
  std::map<std::string, CellPtr> cells_;  // by id: launching, ready or ending
  std::set<CellKey> held_keys_;
  std::map<CellKey, CellView> standings_;
  std::deque<CellView> ended_;
  std::list<Waiter> waiters_;
  bool changed_ = false;  // RunWaiters is posted
};

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_CELL_TABLE_H_
