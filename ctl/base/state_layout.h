#ifndef ODYSSEY_CTL_BASE_STATE_LAYOUT_H_
#define ODYSSEY_CTL_BASE_STATE_LAYOUT_H_

// The state directory that `up` runs the daemons in:
//
//   STATE/             root 0755   up.lock
//   STATE/supervisor/  root 0700   cells
//   STATE/agentd/      agentd 0700 sessions, journals, bundles
//   STATE/run/         root:agentd 1775; agentd makes its own socket there, and no more; others may
//                      connect to it, and agentd looks at their uid
//   STATE/log/         root 0700   with --detach
//   STATE/policy.d/    the operator's ceiling; his to make

#include <cstdint>
#include <string>

#include "common/base/status.h"

namespace odyssey::ctl {

// Used where the system users do not exist. Beside the cells' range, far from anything allocated.
inline constexpr uint32_t kFallbackRpcId = 0x6fff0001;
inline constexpr uint32_t kFallbackAgentdId = 0x6fff0002;

struct Identity {
  uint32_t uid = 0;
  uint32_t gid = 0;
};

struct DaemonIdentities {
  Identity rpc;
  Identity agentd;
};

// The users odyssey-rpc and odyssey-agentd if they exist, else the fixed numbers. Reads the user
// database.
DaemonIdentities ChooseIdentities();

struct StateLayout {
  std::string state;
  std::string supervisor_dir;
  std::string agentd_dir;
  std::string run_dir;
  std::string log_dir;
  std::string policy_dir;
  std::string lock_path;
  std::string supervisor_socket;
  std::string agentd_socket;
};

StateLayout LayoutOf(const std::string& state);

// Makes what is missing and sets owners and modes. Runs as root. Follows no symbolic link below
// STATE. Refuses a STATE that a uid other than root could rearrange or replace, or that agentd
// could not reach.
Status CreateLayout(const StateLayout& layout, const Identity& agentd);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_BASE_STATE_LAYOUT_H_
