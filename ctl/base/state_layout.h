#ifndef ODYSSEY_CTL_BASE_STATE_LAYOUT_H_
#define ODYSSEY_CTL_BASE_STATE_LAYOUT_H_

// The state directory that `up` runs the daemons in:
//
//   STATE/             root 0755   up.lock
//   STATE/supervisor/  root 0700   cells
//   STATE/agentd/      agentd 0700 sessions, journals, bundles
//   STATE/egress/      egress 0700 users' providers, with their secrets
//   STATE/run/         root:agentd 1775; agentd makes its own socket there, and no more; others may
//                      connect to it, and agentd looks at their uid
//   STATE/run/egress/  egress 0755  odyssey-egress makes its socket there
//   STATE/run/http/    http 0755    where odyssey-http writes its address
//   STATE/log/         root 0700   with --detach
//   STATE/policy.d/    the operator's ceiling; his to make
//   STATE/prices.yaml  what models cost; his to make
//
// Of a user without root all of it is that user's, and STATE and STATE/run are 0700.

#include <cstdint>
#include <string>

#include "common/base/status.h"

namespace odyssey::ctl {

// Used where the system users do not exist. Beside the cells' range, far from anything allocated.
inline constexpr uint32_t kFallbackRpcId = 0x6fff0001;
inline constexpr uint32_t kFallbackAgentdId = 0x6fff0002;
inline constexpr uint32_t kFallbackEgressId = 0x6fff0003;
inline constexpr uint32_t kFallbackHttpId = 0x6fff0004;

struct Identity {
  uint32_t uid = 0;
  uint32_t gid = 0;
};

struct DaemonIdentities {
  Identity rpc;
  Identity agentd;
  Identity egress;
  Identity http;
};

// The users odyssey-rpc, odyssey-agentd, odyssey-egress and odyssey-http if they exist, else the
// fixed numbers; not as root, the one that this process runs as. Reads the user database.
DaemonIdentities ChooseIdentities();

struct StateLayout {
  std::string state;
  std::string supervisor_dir;
  std::string agentd_dir;
  std::string run_dir;
  std::string egress_dir;
  std::string egress_state;
  std::string http_dir;
  std::string log_dir;
  std::string policy_dir;
  std::string prices_path;
  std::string lock_path;
  std::string supervisor_socket;
  std::string agentd_socket;
};

StateLayout LayoutOf(const std::string& state);

// Makes what is missing and sets owners and modes. Follows no symbolic link below STATE. Refuses a
// STATE that a uid other than root and our own could rearrange or replace, or that agentd could not
// reach.
Status CreateLayout(const StateLayout& layout, const DaemonIdentities& ids);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_BASE_STATE_LAYOUT_H_
