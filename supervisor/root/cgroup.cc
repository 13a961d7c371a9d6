#include "supervisor/root/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/os/file.h"

namespace odyssey::root {
namespace {

constexpr uint32_t kCpuPeriodUsec = 100'000;  // the kernel's own default period
constexpr int kSweepSteps = 400;              // × 5 ms = 2 s
constexpr int kSweepStepMs = 5;

}  // namespace

CgroupTree::CgroupTree(CgroupLayout layout, std::string name)
    : layout_(std::move(layout)), name_(std::move(name)) {}

std::set<std::string> CgroupTree::Trees() const {
  std::set<std::string> trees;  // v1 "cpu,cpuacct" is one hierarchy
  for (const std::string& base :
       {layout_.unified, layout_.memory, layout_.pids, layout_.cpu, layout_.cpuacct}) {
    if (!base.empty()) trees.insert(base + "/" + name_);
  }
  return trees;
}

Status CgroupTree::Open() {
  for (const std::string& tree : Trees()) {
    if (mkdir(tree.c_str(), 0755) != 0 && errno != EEXIST)
      return ErrnoStatus(errno, "create " + tree);
    if (!layout_.v2) continue;
    ODY_RETURN_IF_ERROR(WriteControlFile(tree + "/cgroup.subtree_control", "+memory +pids +cpu"));
  }
  return OkStatus();
}

Status CgroupTree::Create(const std::string& group) {
  for (const std::string& tree : Trees()) {
    const std::string path = tree + "/" + group;
    if (mkdir(path.c_str(), 0755) != 0) return ErrnoStatus(errno, "create " + path);
  }
  return OkStatus();
}

Status CgroupTree::SetLimits(const std::string& group, const CellLimits& limits) {
  if (Trees().empty()) return OkStatus();
  const std::string leaf = "/" + name_ + "/" + group;
  const std::string memory = std::to_string(limits.memory_bytes);
  const uint64_t quota = uint64_t{limits.cpu_millis} * kCpuPeriodUsec / 1000;
  ODY_RETURN_IF_ERROR(
      WriteControlFile(layout_.pids + leaf + "/pids.max", std::to_string(limits.pids)));
  if (layout_.v2) {
    const std::string path = layout_.unified + leaf;
    ODY_RETURN_IF_ERROR(WriteControlFile(path + "/memory.max", memory));
    // Absent when the kernel has no swap accounting: then there is no swap to limit.
    (void)WriteControlFile(path + "/memory.swap.max", "0");
    return WriteControlFile(path + "/cpu.max",
                            std::to_string(quota) + " " + std::to_string(kCpuPeriodUsec));
  }
  ODY_RETURN_IF_ERROR(WriteControlFile(layout_.memory + leaf + "/memory.limit_in_bytes", memory));
  (void)WriteControlFile(layout_.memory + leaf + "/memory.memsw.limit_in_bytes", memory);
  // What sockets of every kind hold: counted apart, and only once there is a limit. A quarter,
  // since it comes on top. v2 counts it in memory.max.
  ODY_RETURN_IF_ERROR(WriteControlFile(layout_.memory + leaf + "/memory.kmem.tcp.limit_in_bytes",
                                       std::to_string(limits.memory_bytes / 4)));
  return WriteControlFile(layout_.cpu + leaf + "/cpu.cfs_quota_us", std::to_string(quota));
}

Status CgroupTree::EnterSelf(const std::string& group) {
  for (const std::string& tree : Trees()) {
    ODY_RETURN_IF_ERROR(WriteControlFile(tree + "/" + group + "/cgroup.procs", "0"));
  }
  return OkStatus();
}

void CgroupTree::Kill(const std::string& group) {
  // Without a v2 tree or cgroup.kill (before Linux 5.14) there is no such file, and the launcher's
  // death still ends the cell: every process of it dies with bubblewrap and pid 1.
  (void)WriteControlFile(layout_.unified + "/" + name_ + "/" + group + "/cgroup.kill", "1");
}

bool CgroupTree::Remove(const std::string& group) {
  bool gone = true;
  for (const std::string& tree : Trees()) {
    const std::string path = tree + "/" + group;
    if (rmdir(path.c_str()) != 0 && errno != ENOENT) gone = false;
  }
  return gone;
}

wire::CellUsage CgroupTree::Usage(const std::string& group) const {
  const std::string leaf = "/" + name_ + "/" + group;
  wire::CellUsage usage;
  usage.processes = static_cast<uint32_t>(ReadControlNumber(layout_.pids + leaf + "/pids.current"));
  usage.pids_refused = ReadControlKey(layout_.pids + leaf + "/pids.events", "max");
  if (layout_.v2) {
    const std::string path = layout_.unified + leaf;
    usage.memory_bytes = ReadControlNumber(path + "/memory.current");
    usage.cpu_usec = ReadControlKey(path + "/cpu.stat", "usage_usec");
    usage.oom_kills = ReadControlKey(path + "/memory.events", "oom_kill");
    return usage;
  }
  usage.memory_bytes = ReadControlNumber(layout_.memory + leaf + "/memory.usage_in_bytes");
  usage.oom_kills = ReadControlKey(layout_.memory + leaf + "/memory.oom_control", "oom_kill");
  if (!layout_.cpuacct.empty()) {
    usage.cpu_usec = ReadControlNumber(layout_.cpuacct + leaf + "/cpuacct.usage") / 1000;
  }
  return usage;
}

UniqueFd CgroupTree::OpenFreezer(const std::string& group) const {
  const std::string path = layout_.unified + "/" + name_ + "/" + group + "/cgroup.freeze";
  return UniqueFd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
}

std::set<std::string> CgroupTree::Cells() const {
  std::set<std::string> cells;
  for (const std::string& tree : Trees()) {
    DIR* directory = opendir(tree.c_str());
    if (directory == nullptr) continue;
    while (const dirent* entry = readdir(directory)) {
      if (entry->d_type == DT_DIR && entry->d_name[0] != '.') cells.emplace(entry->d_name);
    }
    closedir(directory);
  }
  return cells;
}

void CgroupTree::Sweep() {
  for (int step = 0; step < kSweepSteps; ++step) {
    const auto cells = Cells();
    bool all_gone = true;
    for (const std::string& cell : cells) {
      Kill(cell);
      all_gone = Remove(cell) && all_gone;
    }
    if (all_gone) break;
    poll(nullptr, 0, kSweepStepMs);
  }
  for (const std::string& tree : Trees()) rmdir(tree.c_str());
}

void SweepDeadTrees(const CgroupLayout& layout, const std::string& prefix) {
  DIR* directory = opendir(layout.memory.c_str());
  if (directory == nullptr) return;
  while (const dirent* entry = readdir(directory)) {
    if (strncmp(entry->d_name, prefix.c_str(), prefix.size()) != 0) continue;
    const pid_t pid = static_cast<pid_t>(atoi(entry->d_name + prefix.size()));
    if (pid > 0 && kill(pid, 0) != 0 && errno == ESRCH) CgroupTree(layout, entry->d_name).Sweep();
  }
  closedir(directory);
}

}  // namespace odyssey::root
