#include "supervisor/rpc/host_facts.h"

#include <sys/utsname.h>

#include "policy/host/host_facts.h"

namespace odyssey::supervisor {
namespace {

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
  return host::ReadHostFacts(
      {.own_directories = hello.own_directories, .bundle_store = hello.bundle_store});
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
