#include "supervisor/rpc/host_facts.h"

#include <errno.h>
#include <limits.h>
#include <linux/landlock.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "common/os/file.h"
#include "policy/compile/protection.h"
#include "policy/plan/plan_check.h"

namespace odyssey::supervisor {
namespace {

landlock::Support LandlockSupport() {
  const long abi =
      syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION);
  return landlock::SupportFrom(abi, errno);
}

// "usr/bin" for a link, "" otherwise.
std::string LinkTarget(const std::string& path, const struct stat& info) {
  if (!S_ISLNK(info.st_mode)) return "";
  char target[PATH_MAX];
  const ssize_t n = readlink(path.c_str(), target, sizeof(target));
  return n > 0 ? std::string(target, static_cast<size_t>(n)) : "";
}

// Of the local users; none if the file cannot be read.
std::vector<std::string> Homes() {
  constexpr size_t kMaxPasswdBytes = 1 << 20;
  const auto passwd = ReadFile("/etc/passwd", kMaxPasswdBytes);
  return passwd.ok() ? compile::HomeDirectories(*passwd) : std::vector<std::string>();
}

std::string KernelRelease() {
  utsname names{};
  return uname(&names) == 0 ? names.release : "unknown";
}

void AddLandlockRights(uint32_t abi, std::vector<Feature>* out) {
  for (const landlock::RightInfo& info : landlock::Rights()) {
    const bool in_force = abi >= info.abi;
    out->push_back({std::string("landlock_") + info.name, in_force,
                    in_force ? "since Landlock ABI " + std::to_string(info.abi)
                             : "needs " + NameWithAbi(info) + "; " + info.without});
  }
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
  facts.landlock = LandlockSupport();
  facts.homes = Homes();
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
      {"namespaces", true, "user pid mount net ipc uts cgroup; pid and mount again for commands"},
      {"landlock", facts.landlock.abi > 0, DescribeSupport(facts.landlock)},
      {"seccomp", true, "an allow list compiled into pid 1 of every cell"},
      {"cgroup", true, v2 ? "v2: memory pids cpu" : "v1: memory pids cpu"},
      {"no_new_privs", true, "and every capability set empty, the bounding set too"},
  };
  AddLandlockRights(facts.landlock.abi, &features);
  return features;
}

}  // namespace odyssey::supervisor
