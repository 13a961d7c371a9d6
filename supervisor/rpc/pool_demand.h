#ifndef ODYSSEY_SUPERVISOR_RPC_POOL_DEMAND_H_
#define ODYSSEY_SUPERVISOR_RPC_POOL_DEMAND_H_

// How many cells of one policy are worth making ahead of need. Pure: times are given.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string_view>

#include "common/base/status.h"
#include "supervisor/rpc/event_loop.h"

namespace odyssey::supervisor {

// Most cells that the operator may have made ahead.
inline constexpr size_t kMaxPoolCells = 64;
inline constexpr std::chrono::seconds kMaxPoolIdle = std::chrono::minutes(10);

struct PoolOptions {
  size_t cells = 0;  // at most, of all policies together; 0: none is made ahead
  // How long a cell is kept that no request claims, and how long a request counts.
  Clock::duration idle = std::chrono::seconds(60);
};

// When cells of one policy were asked for.
class PoolDemand final {
 public:
  void OnAsked(Clock::time_point now);

  // None for what was asked for once, one for what was asked for again, and more when cells are
  // asked for faster than one is made.
  size_t CellsAhead(Clock::time_point now, Clock::duration make_time,
                    const PoolOptions& options) const;
  // It was asked for twice since the other one was: what the other one has in the pool is better
  // its own. Policies that are asked for in turn take each other nothing.
  bool Displaces(const PoolDemand& other) const;
  // Nothing has been asked for within the idle time.
  bool Over(Clock::time_point now, const PoolOptions& options) const;

 private:
  std::deque<Clock::time_point> asked_;  // the last ones, the latest last
};

// By the text of /proc/meminfo: whether less than a sixteenth of the memory is available. False
// where that is not said.
bool MemoryIsShort(std::string_view meminfo);

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_POOL_DEMAND_H_
