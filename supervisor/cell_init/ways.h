#ifndef ODYSSEY_SUPERVISOR_CELL_INIT_WAYS_H_
#define ODYSSEY_SUPERVISOR_CELL_INIT_WAYS_H_

// The ways out of a cell with egress (ADR 0068). Its network namespace has no device but the
// loopback, and routes that make every address one of the cell's own: what a command connects to,
// it reaches a listener here, or nothing. cell-init makes the listeners and gives them away;
// odyssey-egress serves them, and decides.

#include <atomic>
#include <set>

#include "common/base/status.h"
#include "common/os/unique_fd.h"
#include "supervisor/wire/cell_wire.h"

namespace odyssey::cell_init {

class Ways final {
 public:
  // Sends each way that is not open yet to `supervisor`. The caller has CAP_NET_ADMIN
  // and CAP_NET_BIND_SERVICE over its network namespace.
  Status Open(const cell::OpenEgress& request, int supervisor);

  // Where slots send an Identity for each connection; -1 in a cell without egress.
  int identities() const { return identities_.get(); }
  // What the last OpenEgress says of them, also to a slot that was forked before it came.
  bool files() const { return files_ != nullptr && *files_; }

 private:
  UniqueFd identities_;
  std::atomic<bool>* files_ = nullptr;  // MAP_SHARED, for as long as the process
  std::set<cell::EgressWay> open_;
};

}  // namespace odyssey::cell_init

#endif  // ODYSSEY_SUPERVISOR_CELL_INIT_WAYS_H_
