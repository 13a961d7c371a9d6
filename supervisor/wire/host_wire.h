#ifndef ODYSSEY_SUPERVISOR_WIRE_HOST_WIRE_H_
#define ODYSSEY_SUPERVISOR_WIRE_HOST_WIRE_H_

// What odyssey-host-runner and odyssey-supervisor-rpc say to each other, beside the messages of
// root_wire.h that they share. rpc connects to HostSocket; each connection holds the cells that it
// launched, and they end with it.
//
//   runner → rpc   HostHello · Launched + cell socket · Gone · StatsReply
//   rpc → runner   Launch, whose plan is an encoded HostPlan · Kill · Stats
//
// To a plan that is check_only the runner answers Launched without a cell socket.
//
// On a cell's socket the runner speaks as cell-init does (supervisor/wire/cell_wire.h), with
// WantSlot and WantTools as the only requests. Anything else ends the runner, and with it rpc.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/status.h"

namespace odyssey::wire {

// Once, before anything else: whom the grant file names at this moment, or why it counts for
// nobody.
struct HostHello {
  std::vector<std::string> users;
  std::string error;
  friend bool operator==(const HostHello&, const HostHello&) = default;
};

// A cell on the host.
struct HostPlan {
  std::string cell_id;
  uint32_t uid = 0;
  std::string workspace;  // absolute: where relative paths of file operations begin
  uint64_t memory_bytes = 0;
  uint32_t cpu_millis = 0;
  uint32_t pids = 0;
  bool check_only = false;  // say whether its user may have it, and make nothing
  friend bool operator==(const HostPlan&, const HostPlan&) = default;
};

std::string Encode(const HostHello& m);
std::string Encode(const HostPlan& m);

Status Decode(std::string_view bytes, HostHello* m);
// Also refuses a workspace that is no normalised absolute path below "/", and a limit of 0, which
// would be none.
Status Decode(std::string_view bytes, HostPlan* m);

}  // namespace odyssey::wire

#endif  // ODYSSEY_SUPERVISOR_WIRE_HOST_WIRE_H_
