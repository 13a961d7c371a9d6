#ifndef ODYSSEY_SUPERVISOR_RPC_CALL_CELL_H_
#define ODYSSEY_SUPERVISOR_RPC_CALL_CELL_H_

// A cell that is started for one call of a client, and ended with it: its only process is a program
// of Odyssey's. Blocking; not for the loop's thread.

#include <future>
#include <memory>
#include <string>
#include <utility>

#include "common/base/status.h"
#include "common/os/unique_fd.h"
#include "policy/plan/plan.h"
#include "supervisor/rpc/event_loop.h"
#include "supervisor/rpc/root_client.h"

namespace odyssey::supervisor {

class CallCell final {
 public:
  // `loop` and `root` are borrowed and outlive the cell. `plan` is without a cell_id, which begins
  // with `prefix`; `name` is what errors call the cell.
  static Result<std::unique_ptr<CallCell>> Start(EventLoop* loop, RootClient* root, plan::Plan plan,
                                                 const char* prefix, std::string name);
  CallCell(const CallCell&) = delete;
  CallCell& operator=(const CallCell&) = delete;
  // Waits until nothing of the cell is left.
  ~CallCell();

  // The program's fd 3.
  int socket() const { return socket_.get(); }

  // What root or the program reported last; once.
  Status WhyGone();

  // Its cell_tree goes with it.
  void PurgeAtEnd() { purge_ = true; }

 private:
  CallCell(EventLoop* loop, RootClient* root, const char* prefix, std::string name);

  EventLoop* const loop_;
  RootClient* const root_;  // on the loop
  const std::string id_;
  const std::string name_;
  bool purge_ = false;
  UniqueFd socket_;
  std::future<wire::Gone> gone_;
};

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_CALL_CELL_H_
