#ifndef ODYSSEY_SUPERVISOR_ROOT_CGROUP_H_
#define ODYSSEY_SUPERVISOR_ROOT_CGROUP_H_

// One control group per live cell: limits, kill, statistics. cgroup v2 where it has the
// controllers; where the host keeps memory, pids and cpu on v1, those hierarchies, and cgroup.kill
// of the v2 tree beside them. Runs as root.

#include <cstdint>
#include <set>
#include <string>

#include "common/base/status.h"
#include "common/os/cgroup_layout.h"
#include "common/os/unique_fd.h"
#include "supervisor/wire/root_wire.h"

namespace odyssey::root {

struct CellLimits {
  uint64_t memory_bytes = 0;
  uint32_t cpu_millis = 0;
  uint32_t pids = 0;
};

// The control groups "<layout>/<name>/<group>".
class CgroupTree final {
 public:
  CgroupTree(CgroupLayout layout, std::string name);

  // Makes "<layout>/<name>" in every hierarchy.
  Status Open();

  Status Create(const std::string& group);
  Status SetLimits(const std::string& group, const CellLimits& limits);
  // Moves the calling process. Forked child of root, before it drops anything.
  Status EnterSelf(const std::string& group);
  // SIGKILL to every member, at once.
  void Kill(const std::string& group);
  // True when no hierarchy has the group any more; false while members are still dying.
  bool Remove(const std::string& group);
  wire::CellUsage Usage(const std::string& group) const;
  // Its cgroup.freeze, to be written; none where the host has no v2 tree.
  UniqueFd OpenFreezer(const std::string& group) const;

  // Kills and removes every group of this tree and the tree itself; waits up to two seconds.
  void Sweep();

  bool v2() const { return layout_.v2; }
  // "v2", "v1", or "none": the layout is empty, and nothing is limited or counted.
  const char* kind() const { return layout_.v2 ? "v2" : (layout_.memory.empty() ? "none" : "v1"); }

 private:
  std::set<std::string> Trees() const;
  std::set<std::string> Cells() const;

  const CgroupLayout layout_;
  const std::string name_;
};

// Sweeps trees "<prefix><pid>" whose pid no longer lives: left by a keeper and worker killed
// together.
void SweepDeadTrees(const CgroupLayout& layout, const std::string& prefix);

}  // namespace odyssey::root

#endif  // ODYSSEY_SUPERVISOR_ROOT_CGROUP_H_
