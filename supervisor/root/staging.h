#ifndef ODYSSEY_SUPERVISOR_ROOT_STAGING_H_
#define ODYSSEY_SUPERVISOR_ROOT_STAGING_H_

// Builds the root directory of a cell from its plan, in a mount namespace of its own, for
// bubblewrap to bind as "/". Everything made here ends with that namespace.

#include <sys/types.h>

#include <string>

#include "common/base/status.h"
#include "common/os/unique_fd.h"
#include "policy/plan/plan.h"

namespace odyssey::root {

struct StagingPaths {
  std::string cells_directory;    // where the trees of cells are on disk
  std::string program_directory;  // of the static programs that may be pid 1
  uid_t store_uid = 0;            // owns every cell tree on disk
  // In a user namespace that maps one uid, which is also the store's and every cell's: mounts of
  // the host cannot be idmapped, and no device node can be made.
  bool rootless = false;
  UniqueFd unmapped_map;  // maps no uid and no gid; one for all cells; none if rootless
};

// The tmpfs that staging happens on. It hides the host's directory of that name in this namespace
// only; sources are opened before.
inline constexpr char kStagingDirectory[] = "/run";
// The finished root, for bubblewrap's --bind.
inline constexpr char kStagedRoot[] = "/run/root";
// If the plan asks for it: a node of the kernel's FUSE device that only the cell's user may open,
// uids that may open the host's; if rootless, the host's itself.
inline constexpr char kStagedFuseDevice[] = "/run/devices/fuse";
inline constexpr char kFuseDevice[] = "/dev/fuse";

// The ids of the host that a cell has.
struct CellIds {
  uid_t uid = 0;  // of its commands
  gid_t gid = 0;
  uint32_t first = 0;  // of its range: id 0 inside; 0: it has none
};

// Those of a cell of `cell_uid` with this plan. FAILED_PRECONDITION: there is no range for it.
Result<CellIds> IdsOf(const plan::Plan& plan, uid_t cell_uid, const StagingPaths& paths);

// Runs as root, in the launch child, after unshare(CLONE_NEWNS). Every source is opened without
// following links and checked after opening; no target is ever created inside a host directory.
Status StageRoot(const plan::Plan& plan, const CellIds& ids, const StagingPaths& paths);

}  // namespace odyssey::root

#endif  // ODYSSEY_SUPERVISOR_ROOT_STAGING_H_
