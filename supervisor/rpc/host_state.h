#ifndef ODYSSEY_SUPERVISOR_RPC_HOST_STATE_H_
#define ODYSSEY_SUPERVISOR_RPC_HOST_STATE_H_

// What a cell would be shown of the host if it were made now: by that one that was made before is
// told from one that shows what has been replaced or mounted over since.

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "common/os/unique_fd.h"
#include "policy/model/request.h"
#include "policy/plan/plan.h"
#include "supervisor/rpc/linked_configuration.h"

namespace odyssey::supervisor {

struct HostState {
  uint64_t mounts = 0;  // MountTable::Changes
  std::shared_ptr<const LinkedConfiguration::Shown> linked;
  // Of the system's other trees and files in a plan, in its order; inode 0: not there.
  std::vector<policy::FileIdentity> system;
  friend bool operator==(const HostState&, const HostState&) = default;
};

// The mounts that this process sees. Thread-safe.
class MountTable final {
 public:
  MountTable();

  // How often it was asked and something had been mounted, unmounted, moved or given other options
  // since the time before.
  uint64_t Changes();

 private:
  const UniqueFd file_;
  std::mutex mutex_;
  uint64_t changes_ = 0;  // guarded by mutex_
};

// Not at directories that a user has named: theirs may be on a file system that does not answer,
// and what they were when they were asked for is in the plan (plan::Entry::inode).
HostState LookAtHost(const plan::Plan& plan, LinkedConfiguration* linked, MountTable* mounts);

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_HOST_STATE_H_
