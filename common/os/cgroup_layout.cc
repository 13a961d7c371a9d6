#include "common/os/cgroup_layout.h"

#include <errno.h>
#include <mntent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <string_view>

#include "common/os/file.h"

namespace odyssey {
namespace {

constexpr size_t kMaxControlFile = 64 * 1024;

// Our own group in the v2 tree, as a path below its mount.
std::string OwnGroup() {
  const auto text = ReadFile("/proc/self/cgroup", kMaxControlFile);
  const std::string lines = "\n" + (text.ok() ? *text : "");
  const size_t at = lines.find("\n0::/");
  if (at == std::string::npos) return "";
  const std::string group = lines.substr(at + 4, lines.find('\n', at + 4) - at - 4);
  return group == "/" ? "" : group;
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
  const std::unique_ptr<FILE, int (*)(FILE*)> mounts(setmntent("/proc/self/mounts", "re"),
                                                     endmntent);
  // On v1 at the top of each hierarchy, wherever we were started from: there a later supervisor
  // finds what a killed one left.
  for (const mntent* mount; mounts && (mount = getmntent(mounts.get())) != nullptr;) {
    const auto use = [mount](const char* controller, std::string* directory) {
      if (directory->empty() && hasmntopt(mount, controller)) *directory = mount->mnt_dir;
    };
    const std::string_view type = mount->mnt_type;
    if (type == "cgroup2") layout.unified = mount->mnt_dir;
    if (type != "cgroup") continue;
    use("memory", &layout.memory);
    use("pids", &layout.pids);
    use("cpu", &layout.cpu);
    use("cpuacct", &layout.cpuacct);
  }
  if (!layout.unified.empty()) {
    const auto text = ReadFile(layout.unified + "/cgroup.controllers", kMaxControlFile);
    const std::string list = " " + (text.ok() ? text->substr(0, text->find('\n')) : "") + " ";
    const auto has = [&list](const char* word) { return list.find(word) != std::string::npos; };
    if (has(" memory ") && has(" pids ") && has(" cpu ")) {
      ODY_ASSIGN_OR_RETURN(std::string base, DelegatedGroup(layout.unified));
      return CgroupLayout{.v2 = true, .unified = base, .memory = base, .pids = base, .cpu = base};
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
