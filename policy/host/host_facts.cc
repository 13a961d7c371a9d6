#include "policy/host/host_facts.h"

#include <errno.h>
#include <limits.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "common/os/file.h"
#include "policy/compile/protection.h"

namespace odyssey::host {
namespace {

// landlock_create_ruleset(2) has no wrapper in glibc 2.36.
landlock::Support LandlockSupport() {
  const long abi =
      syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return landlock::SupportFrom(abi, errno);
}

// The hierarchies of version 1 in which root makes a cell's group (common/os/cgroup_layout.h), and
// the links by which one that is for two controllers has each of their names.
constexpr const char* kHierarchies[] = {"memory", "pids", "cpu,cpuacct", "cpu", "cpuacct"};

std::vector<compile::SystemEntry> Existing(const std::vector<std::string>& paths) {
  std::vector<compile::SystemEntry> out;
  for (const std::string& path : paths) {
    struct stat info;
    if (lstat(path.c_str(), &info) != 0) continue;
    out.push_back({path, ReadLinkOfHost(path).value_or("")});
  }
  return out;
}

// Of the local users; none if the file cannot be read.
std::vector<std::string> Homes() {
  constexpr size_t kMaxPasswdBytes = 1 << 20;
  const auto passwd = ReadFile("/etc/passwd", kMaxPasswdBytes);
  return passwd.ok() ? compile::HomeDirectories(*passwd) : std::vector<std::string>();
}

}  // namespace

compile::HostFacts ReadHostFacts(plan::CheckContext check) {
  compile::HostFacts facts;
  std::vector<std::string> paths = plan::SystemTrees();
  paths.push_back("/etc/resolv.conf");  // for cells with the host's network
  facts.system = Existing(paths);
  std::vector<std::string> hierarchies;
  for (const std::string name : kHierarchies) {
    hierarchies.push_back(std::string(cell::kControlGroups) + "/" + name);
  }
  facts.control_groups = Existing(hierarchies);
  facts.processors = static_cast<uint32_t>(std::max(sysconf(_SC_NPROCESSORS_ONLN), 0L));
  facts.memory_bytes = static_cast<uint64_t>(std::max(sysconf(_SC_PHYS_PAGES), 0L)) *
                       static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  facts.landlock = LandlockSupport();
  facts.homes = Homes();
  facts.check = std::move(check);
  return facts;
}

std::optional<std::string> ReadLinkOfHost(const std::string& path) {
  char target[PATH_MAX];
  const ssize_t n = readlink(path.c_str(), target, sizeof(target));
  if (n <= 0) return std::nullopt;
  return std::string(target, static_cast<size_t>(n));
}

}  // namespace odyssey::host
