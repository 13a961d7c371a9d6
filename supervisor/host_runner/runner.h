#ifndef ODYSSEY_SUPERVISOR_HOST_RUNNER_RUNNER_H_
#define ODYSSEY_SUPERVISOR_HOST_RUNNER_RUNNER_H_

// Serves rpc, one connection at a time: makes host cells for those whom the grant file names, and
// ends them when the connection does. Runs as root with three capabilities; single-threaded; one
// poll loop.

#include <map>
#include <memory>
#include <string>
#include <string_view>

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

  // Serves until SIGTERM. An error is a broken protocol: there is nothing to negotiate with who
  // broke it. No cell is left after either.
  Status Run();

 private:
  Status Loop();
  Status ReadSignals();
  Status Accept();
  Status ReadRequest();
  Status HandleLaunch(std::string_view bytes);
  Status HandleKill(std::string_view bytes);
  Status HandleStats(std::string_view bytes);
  Result<UniqueFd> Start(const wire::HostPlan& plan);
  Result<HostUser> Authorize(uid_t uid) const;
  void EndAll();
  Status Advance();
  bool dying() const;

  const std::string grant_file_;
  const OwnUids own_;
  const Result<CgroupLayout> layout_;  // an error refuses every cell
  const UniqueFd listener_;
  UniqueFd signals_;
  UniqueFd rpc_;
  std::map<std::string, std::unique_ptr<HostCell>> cells_;
  uint64_t next_cell_ = 1;
  bool stopping_ = false;
};

}  // namespace odyssey::host_runner

#endif  // ODYSSEY_SUPERVISOR_HOST_RUNNER_RUNNER_H_
