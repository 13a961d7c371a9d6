#ifndef ODYSSEY_CTL_DOCTOR_CGROUP_CHECK_H_
#define ODYSSEY_CTL_DOCTOR_CGROUP_CHECK_H_

// Whether limits of cells can be set: the choice that common/os/cgroup_layout makes, without
// making or writing a group.

#include <string>
#include <vector>

#include "ctl/doctor/host_checks.h"

namespace odyssey::ctl {

struct CgroupMount {
  std::string directory;
  std::vector<std::string> controllers;  // of v1, by the mount's options; of v2, by its file
  bool v2 = false;
  bool writable = false;
  bool top = false;       // of v2: the host's own root, not that of a container
  bool occupied = false;  // of v2: processes are in it
};

std::vector<CgroupMount> FindCgroupMounts();

// Pure.
Check JudgeCgroups(const std::vector<CgroupMount>& mounts);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_DOCTOR_CGROUP_CHECK_H_
