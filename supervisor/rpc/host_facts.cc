#include "supervisor/rpc/host_facts.h"

#include <limits.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "policy/plan/plan_check.h"

namespace odyssey::supervisor {
namespace {

uint32_t LandlockAbi() {
  const long abi =
      syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return abi > 0 ? static_cast<uint32_t>(abi) : 0;
}

// "usr/bin" for a link, "" otherwise.
std::string LinkTarget(const std::string& path, const struct stat& info) {
  if (!S_ISLNK(info.st_mode)) return "";
  char target[PATH_MAX];
  const ssize_t n = readlink(path.c_str(), target, sizeof(target));
  return n > 0 ? std::string(target, static_cast<size_t>(n)) : "";
}

std::string KernelRelease() {
  utsname names{};
  return uname(&names) == 0 ? names.release : "unknown";
}

}  // namespace

compile::HostFacts GatherHostFacts(const wire::Hello& hello) {
  compile::HostFacts facts;
  std::vector<std::string> paths = plan::SystemTrees();
  paths.push_back("/etc/resolv.conf");  // for cells with the host's network
  for (const std::string& path : paths) {
    struct stat info;
    if (lstat(path.c_str(), &info) != 0) continue;
    facts.system.push_back({path, LinkTarget(path, info)});
  }
  facts.landlock_abi = LandlockAbi();
  facts.check.own_directories = hello.own_directories;
  facts.check.bundle_store = hello.bundle_store;
  return facts;
}

std::vector<Feature> DescribeFeatures(const wire::Hello& hello, const compile::HostFacts& facts) {
  const bool v2 = hello.cgroup == "v2";
  const std::string base = std::to_string(hello.uid_base);
  std::vector<Feature> features = {
      {"kernel", true, KernelRelease()},
      {"user", true, "a host uid of its own per cell, from " + base + "; 1000 inside"},
      {"namespaces", true, "user pid mount net ipc uts cgroup; pid and mount again per command"},
      {"landlock", facts.landlock_abi > 0, "ABI " + std::to_string(facts.landlock_abi)},
      {"landlock_scopes", facts.landlock_abi >= 6,
       facts.landlock_abi >= 6 ? "abstract sockets and signals"
                               : "needs Linux 6.12; abstract sockets are kept apart by the network "
                                 "namespace where the network is none"},
      {"seccomp", true, "an allow list compiled into pid 1 of every cell"},
      {"cgroup", true, v2 ? "v2: memory pids cpu" : "v1: memory pids cpu"},
      {"no_new_privs", true, "and every capability set empty, the bounding set too"},
  };
  if (facts.landlock_abi == 0) {
    features[3].detail = "missing: boot with lsm=landlock,… on Linux 5.13 or later; cells need it";
  }
  return features;
}

}  // namespace odyssey::supervisor
