#ifndef ODYSSEY_SUPERVISOR_ROOT_WORKER_H_
#define ODYSSEY_SUPERVISOR_ROOT_WORKER_H_

// The root process that acts: it holds the rpc process, executes its requests, and ends every cell
// when that process ends or breaks the protocol. Runs as root; single-threaded; one poll loop.

#include <signal.h>
#include <sys/types.h>

#include <string>

#include "common/base/status.h"
#include "common/os/unique_fd.h"
#include "policy/plan/plan_check.h"
#include "supervisor/root/cells.h"
#include "supervisor/root/options.h"
#include "supervisor/wire/root_wire.h"

namespace odyssey::root {

class Worker final {
 public:
  // `listener` is borrowed: the keeper's, so that it outlives this process.
  Worker(const Options& options, CgroupTree* cgroups, int listener);

  // Serves until SIGTERM (or the keeper's death, which arrives as that). Every cell is gone after
  // it.
  Status Run();

 private:
  Status StartRpc();
  void EndRpc();
  void RpcEnded();
  Status Loop();
  void ReadSignals();
  void ReapChildren();
  void ReadRequest();
  void BreakWithRpc(const Status& why);
  Status Handle(std::string_view bytes);
  Status HandleLaunch(std::string_view bytes);
  Status HandleKill(std::string_view bytes);
  Status HandleStats(std::string_view bytes);
  void ReportGone();
  wire::Hello MakeHello() const;
  void Send(const std::string& bytes, const std::vector<int>& fds = {});

  const Options& options_;
  CgroupTree* const cgroups_;
  const int listener_;
  const plan::CheckContext check_;
  CellTable cells_;
  UniqueFd signals_;
  UniqueFd rpc_;
  pid_t rpc_pid_ = -1;
  bool rpc_ready_ = false;
  bool said_ready_ = false;
  bool stopping_ = false;
};

}  // namespace odyssey::root

#endif  // ODYSSEY_SUPERVISOR_ROOT_WORKER_H_
