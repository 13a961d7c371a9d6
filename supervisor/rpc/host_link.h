#ifndef ODYSSEY_SUPERVISOR_RPC_HOST_LINK_H_
#define ODYSSEY_SUPERVISOR_RPC_HOST_LINK_H_

#include <memory>
#include <string>

#include "common/base/status.h"
#include "common/os/unique_fd.h"
#include "policy/compile/compile.h"
#include "supervisor/rpc/host_facts.h"
#include "supervisor/rpc/root_client.h"
#include "supervisor/wire/host_wire.h"
#include "supervisor/wire/root_wire.h"

namespace odyssey::supervisor {

// The way to odyssey-host-runner, which is there only where the operator's grant file was when the
// supervisor started. Thread-safe.
class HostLink final {
 public:
  explicit HostLink(std::string socket_path) : socket_path_(std::move(socket_path)) {}

  // A connection for one cell, which speaks as root does and ends with it. FAILED_PRECONDITION:
  // no user is granted the host, and why.
  Result<std::shared_ptr<RootClient>> Connect() const;

  // The runner's answer to `plan`, which is check_only: its code says whether the user may have the
  // cell. Blocking.
  Result<wire::Launched> Check(const wire::HostPlan& plan) const;

  // "danger_full_access", for GetInfo: whom the grant file names now.
  Feature Describe() const;

 private:
  struct Connection {
    UniqueFd socket;
    wire::HostHello hello;
  };
  Result<Connection> Open() const;

  const std::string socket_path_;
};

// What the runner is asked to launch.
wire::HostPlan HostPlanOf(const compile::Compiled& compiled, const std::string& cell_id,
                          uint32_t owner_uid);

// What there is of confinement around a command on the host.
std::vector<Feature> DescribeHostLayers(uint32_t uid);

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_HOST_LINK_H_
