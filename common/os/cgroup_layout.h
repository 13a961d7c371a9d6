#ifndef ODYSSEY_COMMON_OS_CGROUP_LAYOUT_H_
#define ODYSSEY_COMMON_OS_CGROUP_LAYOUT_H_

#include <cstdint>
#include <string>

#include "common/base/status.h"

namespace odyssey {

// Where control groups of ours are made; found by FindCgroupLayout, or given by a test.
struct CgroupLayout {
  bool v2 = false;
  std::string unified;                     // directory in the v2 tree, "" = none
  std::string memory, pids, cpu, cpuacct;  // in v1 trees; with v2 `unified`, and no cpuacct
};

// The host's layout, from /proc/self/mounts and /proc/self/cgroup. FAILED_PRECONDITION naming
// the controllers that are missing: limits are not optional.
Result<CgroupLayout> FindCgroupLayout();

// The number in a control file; the number after "key " in a flat-keyed one such as memory.events.
// 0 if there is none.
uint64_t ReadControlNumber(const std::string& path);
uint64_t ReadControlKey(const std::string& path, const std::string& key);

}  // namespace odyssey

#endif  // ODYSSEY_COMMON_OS_CGROUP_LAYOUT_H_
