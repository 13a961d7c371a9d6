#ifndef ODYSSEY_SUPERVISOR_HOST_RUNNER_RUNNER_H_
#define ODYSSEY_SUPERVISOR_HOST_RUNNER_RUNNER_H_

// Serves rpc, which makes a connection for each cell on the host: whom the grant file names gets
// one, and it ends with its connection. Runs as root with few capabilities; single-threaded; one
// poll loop.

#include <functional>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"
#include "common/os/cgroup_layout.h"
#include "common/os/unique_fd.h"
#include "supervisor/host_runner/grants.h"
#include "supervisor/host_runner/host_cell.h"

namespace odyssey::host_runner {

inline constexpr size_t kMaxHostCells = 64;

class Runner final {
 public:
  // `listener` is bound and listens.
  Runner(std::string grant_file, OwnUids own, Result<CgroupLayout> layout, UniqueFd listener);

  // Serves until SIGTERM. An error is a broken protocol: there is nothing to negotiate with a peer
  // that broke it. No cell is left after either.
  Status Run();

 private:
  // What rpc says about one cell.
  struct Conversation {
    UniqueFd rpc;  // closed: the cell is ending
    std::string cell_id;
    std::unique_ptr<HostCell> cell;
  };
  struct Watched {
    int fd;
    std::function<Status()> handler;
  };

  Status Loop();
  std::vector<Watched> EverythingWatched();
  Status ReadSignals();
  Status Accept();
  Status ReadRequest(Conversation* with);
  Status HandleLaunch(Conversation* with, std::string_view bytes);
  Status HandleKill(Conversation* with, std::string_view bytes);
  Status HandleStats(Conversation* with, std::string_view bytes);
  // The cell's socket; none if the plan is only to be checked.
  Result<UniqueFd> Start(const wire::HostPlan& plan, Conversation* with);
  Result<HostUser> Authorize(uid_t uid) const;
  void EndAll();
  void Advance();
  bool dying() const;

  const std::string grant_file_;
  const OwnUids own_;
  const Result<CgroupLayout> layout_;  // an error refuses every cell
  const UniqueFd listener_;
  UniqueFd signals_;
  std::list<Conversation> conversations_;
  uint64_t next_cell_ = 1;
  bool stopping_ = false;
};

}  // namespace odyssey::host_runner

#endif  // ODYSSEY_SUPERVISOR_HOST_RUNNER_RUNNER_H_
