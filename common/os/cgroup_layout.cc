#include "common/os/cgroup_layout.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "common/os/file.h"
#include "common/os/unique_fd.h"

namespace odyssey {
namespace {

constexpr size_t kMaxControlFile = 64 * 1024;

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

// Our own group in the v2 tree, as a path below its mount.
std::string OwnGroup() {
  const auto text = ReadFile("/proc/self/cgroup", kMaxControlFile);
  if (!text.ok()) return "";
  for (const std::string& line : Split(*text, '\n')) {
    if (line.rfind("0::", 0) == 0) return line == "0::/" ? "" : line.substr(3);
  }
  return "";
}

// A v2 group with members cannot give controllers to children, so we need one where we are alone:
// our own if the service manager delegated it to us, else the root of the tree.
Result<std::string> DelegatedGroup(const std::string& mount) {
  const std::string own = mount + OwnGroup();
  const auto members = ReadFile(own + "/cgroup.procs", kMaxControlFile);
  const bool alone = own != mount && members.ok() && *members == std::to_string(getpid()) + "\n";
  const std::string base = alone ? own : mount;
  if (alone) {
    const std::string leaf = own + "/supervisor";
    if (mkdir(leaf.c_str(), 0755) != 0 && errno != EEXIST)
      return ErrnoStatus(errno, "create " + leaf);
    ODY_RETURN_IF_ERROR(WriteControlFile(leaf + "/cgroup.procs", "0"));
  }
  ODY_RETURN_IF_ERROR(WriteControlFile(base + "/cgroup.subtree_control", "+memory +pids +cpu"));
  return base;
}

}  // namespace

Result<CgroupLayout> FindCgroupLayout() {
  CgroupLayout layout;
  // On v1 at the top of each hierarchy, wherever we were started from: there a later supervisor
  // finds what a killed one left.
  for (const CgroupMount& mount : CgroupMounts()) {
    if (mount.v2) {
      layout.unified = mount.directory;
      continue;
    }
    const auto use = [&mount](const std::string& controller, std::string* directory) {
      if (directory->empty() && Contains(mount.controllers, controller)) {
        *directory = mount.directory;
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

uint64_t ReadControlNumber(const std::string& path) {
  const auto text = ReadFile(path, kMaxControlFile);
  return text.ok() ? strtoull(text->c_str(), nullptr, 10) : 0;
}

uint64_t ReadControlKey(const std::string& path, const std::string& key) {
  const auto text = ReadFile(path, kMaxControlFile);
  if (!text.ok()) return 0;
  const std::string padded = "\n" + *text;
  const size_t at = padded.find("\n" + key + " ");
  if (at == std::string::npos) return 0;
  return strtoull(padded.c_str() + at + key.size() + 2, nullptr, 10);
}

}  // namespace odyssey
