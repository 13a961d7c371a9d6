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

#include <algorithm>

#include "common/os/file.h"
#include "common/os/unique_fd.h"

namespace odyssey::root {
namespace {

constexpr size_t kMaxControlFile = 64 * 1024;
constexpr uint32_t kCpuPeriodUsec = 100'000;  // the kernel's own default period
constexpr int kSweepSteps = 400;              // × 5 ms = 2 s
constexpr int kSweepStepMs = 5;

Status WriteControl(const std::string& path, const std::string& value) {
  UniqueFd fd(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!fd) return ErrnoStatus(errno, "open " + path);
  if (write(fd.get(), value.data(), value.size()) < 0) {
    return ErrnoStatus(errno, "write " + value + " to " + path);
  }
  return OkStatus();
}

uint64_t ReadNumber(const std::string& path) {
  const auto text = ReadFile(path, kMaxControlFile);
  return text.ok() ? strtoull(text->c_str(), nullptr, 10) : 0;
}

// The number after "key " in a flat-keyed file such as memory.events.
uint64_t ReadKeyed(const std::string& path, const std::string& key) {
  const auto text = ReadFile(path, kMaxControlFile);
  if (!text.ok()) return 0;
  const std::string padded = "\n" + *text;
  const size_t at = padded.find("\n" + key + " ");
  if (at == std::string::npos) return 0;
  return strtoull(padded.c_str() + at + key.size() + 2, nullptr, 10);
}

std::vector<std::string> Split(const std::string& text, char separator) {
  std::vector<std::string> out;
  size_t begin = 0;
  for (size_t end; (end = text.find(separator, begin)) != std::string::npos; begin = end + 1) {
    out.push_back(text.substr(begin, end - begin));
  }
  out.push_back(text.substr(begin));
  return out;
}

bool Contains(const std::vector<std::string>& list, const std::string& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

struct CgroupMount {
  bool v2 = false;
  std::string directory;
  std::vector<std::string> controllers;  // v1: from the super options
};

std::vector<CgroupMount> CgroupMounts() {
  std::vector<CgroupMount> mounts;
  const auto text = ReadFile("/proc/self/mountinfo", 1 << 20);
  if (!text.ok()) return mounts;
  for (const std::string& line : Split(*text, '\n')) {
    // "id parent dev root MOUNTPOINT options [tags] - TYPE source SUPER"
    const size_t dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    const auto left = Split(line.substr(0, dash), ' ');
    const auto right = Split(line.substr(dash + 3), ' ');
    if (left.size() < 6 || right.size() < 3) continue;
    if (right[0] == "cgroup2") mounts.push_back({true, left[4], {}});
    if (right[0] == "cgroup") mounts.push_back({false, left[4], Split(right[2], ',')});
  }
  return mounts;
}

// Our own group in the hierarchy that has `controller` ("" = v2), as a path below its mount.
std::string OwnGroup(const std::string& controller) {
  const auto text = ReadFile("/proc/self/cgroup", kMaxControlFile);
  if (!text.ok()) return "";
  for (const std::string& line : Split(*text, '\n')) {
    const auto fields = Split(line, ':');  // "4:memory:/path"
    if (fields.size() < 3) continue;
    if (!Contains(Split(fields[1], ','), controller)) continue;
    return fields[2] == "/" ? "" : fields[2];
  }
  return "";
}

// A v2 group with members cannot give controllers to children, so we need one where we are alone:
// our own if the service manager delegated it to us, else the root of the tree.
Result<std::string> DelegatedGroup(const std::string& mount) {
  const std::string own = mount + OwnGroup("");
  const auto members = ReadFile(own + "/cgroup.procs", kMaxControlFile);
  const bool alone = own != mount && members.ok() && *members == std::to_string(getpid()) + "\n";
  const std::string base = alone ? own : mount;
  if (alone) {
    const std::string leaf = own + "/supervisor";
    if (mkdir(leaf.c_str(), 0755) != 0 && errno != EEXIST)
      return ErrnoStatus(errno, "create " + leaf);
    ODY_RETURN_IF_ERROR(WriteControl(leaf + "/cgroup.procs", "0"));
  }
  ODY_RETURN_IF_ERROR(WriteControl(base + "/cgroup.subtree_control", "+memory +pids +cpu"));
  return base;
}

bool Alive(pid_t pid) { return kill(pid, 0) == 0 || errno != ESRCH; }

}  // namespace

Result<CgroupLayout> FindCgroupLayout() {
  CgroupLayout layout;
  for (const CgroupMount& mount : CgroupMounts()) {
    if (mount.v2) {
      layout.unified = mount.directory;
      continue;
    }
    const auto use = [&mount](const std::string& controller, std::string* directory) {
      if (directory->empty() && Contains(mount.controllers, controller)) {
        *directory = mount.directory + OwnGroup(controller);
      }
    };
    use("memory", &layout.memory);
    use("pids", &layout.pids);
    use("cpu", &layout.cpu);
    use("cpuacct", &layout.cpuacct);
  }
  if (!layout.unified.empty()) {
    const auto text = ReadFile(layout.unified + "/cgroup.controllers", kMaxControlFile);
    const auto available = Split(text.ok() ? text->substr(0, text->find('\n')) : "", ' ');
    if (Contains(available, "memory") && Contains(available, "pids") &&
        Contains(available, "cpu")) {
      ODY_ASSIGN_OR_RETURN(std::string base, DelegatedGroup(layout.unified));
      return CgroupLayout{.v2 = true, .unified = base};
    }
    layout.unified += OwnGroup("");
  }
  std::string missing;
  if (layout.memory.empty()) missing += " memory";
  if (layout.pids.empty()) missing += " pids";
  if (layout.cpu.empty()) missing += " cpu";
  if (!missing.empty()) {
    return FailedPrecondition("cgroup controllers missing:" + missing +
                              "; mount cgroup2 with them, or the v1 hierarchies");
  }
  return layout;
}

CgroupTree::CgroupTree(CgroupLayout layout, std::string name)
    : layout_(std::move(layout)), name_(std::move(name)) {}

std::vector<std::string> CgroupTree::Trees() const {
  std::vector<std::string> trees;
  for (const std::string* base :
       {&layout_.unified, &layout_.memory, &layout_.pids, &layout_.cpu, &layout_.cpuacct}) {
    if (base->empty()) continue;
    const std::string tree = *base + "/" + name_;
    if (!Contains(trees, tree)) trees.push_back(tree);  // v1 "cpu,cpuacct" is one hierarchy
  }
  return trees;
}

Status CgroupTree::Open() {
  for (const std::string& tree : Trees()) {
    if (mkdir(tree.c_str(), 0755) != 0 && errno != EEXIST)
      return ErrnoStatus(errno, "create " + tree);
    if (layout_.v2) {
      ODY_RETURN_IF_ERROR(WriteControl(tree + "/cgroup.subtree_control", "+memory +pids +cpu"));
    }
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
  const std::string leaf = "/" + name_ + "/" + group;
  const std::string memory = std::to_string(limits.memory_bytes);
  const uint64_t quota = uint64_t{limits.cpu_millis} * kCpuPeriodUsec / 1000;
  if (layout_.v2) {
    const std::string path = layout_.unified + leaf;
    ODY_RETURN_IF_ERROR(WriteControl(path + "/memory.max", memory));
    // Absent when the kernel has no swap accounting: then there is no swap to limit.
    (void)WriteControl(path + "/memory.swap.max", "0");
    ODY_RETURN_IF_ERROR(WriteControl(path + "/pids.max", std::to_string(limits.pids)));
    return WriteControl(path + "/cpu.max",
                        std::to_string(quota) + " " + std::to_string(kCpuPeriodUsec));
  }
  ODY_RETURN_IF_ERROR(WriteControl(layout_.memory + leaf + "/memory.limit_in_bytes", memory));
  (void)WriteControl(layout_.memory + leaf + "/memory.memsw.limit_in_bytes", memory);
  ODY_RETURN_IF_ERROR(WriteControl(layout_.pids + leaf + "/pids.max", std::to_string(limits.pids)));
  return WriteControl(layout_.cpu + leaf + "/cpu.cfs_quota_us", std::to_string(quota));
}

Status CgroupTree::EnterSelf(const std::string& group) {
  for (const std::string& tree : Trees()) {
    ODY_RETURN_IF_ERROR(WriteControl(tree + "/" + group + "/cgroup.procs", "0"));
  }
  return OkStatus();
}

void CgroupTree::Kill(const std::string& group) {
  // Without cgroup.kill (before Linux 5.14) the launcher's death still ends the cell: every process
  // of it dies with bubblewrap and pid 1.
  if (!layout_.unified.empty()) {
    (void)WriteControl(layout_.unified + "/" + name_ + "/" + group + "/cgroup.kill", "1");
  }
}

bool CgroupTree::Remove(const std::string& group) {
  bool gone = true;
  for (const std::string& tree : Trees()) {
    const std::string path = tree + "/" + group;
    if (rmdir(path.c_str()) != 0 && errno != ENOENT) gone = false;
  }
  return gone;
}

CellUsage CgroupTree::Usage(const std::string& group) const {
  const std::string leaf = "/" + name_ + "/" + group;
  CellUsage usage;
  if (layout_.v2) {
    const std::string path = layout_.unified + leaf;
    usage.memory_bytes = ReadNumber(path + "/memory.current");
    usage.cpu_usec = ReadKeyed(path + "/cpu.stat", "usage_usec");
    usage.processes = static_cast<uint32_t>(ReadNumber(path + "/pids.current"));
    usage.oom_kills = ReadKeyed(path + "/memory.events", "oom_kill");
    return usage;
  }
  usage.memory_bytes = ReadNumber(layout_.memory + leaf + "/memory.usage_in_bytes");
  usage.oom_kills = ReadKeyed(layout_.memory + leaf + "/memory.oom_control", "oom_kill");
  usage.processes = static_cast<uint32_t>(ReadNumber(layout_.pids + leaf + "/pids.current"));
  if (!layout_.cpuacct.empty()) {
    usage.cpu_usec = ReadNumber(layout_.cpuacct + leaf + "/cpuacct.usage") / 1000;
  }
  return usage;
}

std::vector<std::string> CgroupTree::Cells() const {
  std::vector<std::string> cells;
  for (const std::string& tree : Trees()) {
    DIR* directory = opendir(tree.c_str());
    if (directory == nullptr) continue;
    while (const dirent* entry = readdir(directory)) {
      if (entry->d_type != DT_DIR || entry->d_name[0] == '.') continue;
      if (!Contains(cells, entry->d_name)) cells.emplace_back(entry->d_name);
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
  const std::string& base = layout.v2 ? layout.unified : layout.memory;
  DIR* directory = opendir(base.c_str());
  if (directory == nullptr) return;
  while (const dirent* entry = readdir(directory)) {
    if (strncmp(entry->d_name, prefix.c_str(), prefix.size()) != 0) continue;
    const pid_t pid = static_cast<pid_t>(atoi(entry->d_name + prefix.size()));
    if (pid > 0 && !Alive(pid)) CgroupTree(layout, entry->d_name).Sweep();
  }
  closedir(directory);
}

}  // namespace odyssey::root
