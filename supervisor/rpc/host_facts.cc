#include "supervisor/rpc/host_facts.h"

#include <sys/utsname.h>
#include <unistd.h>

#include "policy/compile/weakness.h"
#include "policy/host/host_facts.h"

namespace odyssey::supervisor {
namespace {

constexpr char kNoGroups[] = "none";

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
  compile::HostFacts facts = host::ReadHostFacts(
      {.own_directories = hello.own_directories, .bundle_store = hello.bundle_store});
  if (!hello.rootless) return facts;
  // This process has the uid that launches cells too.
  facts.enforcement = {.rootless_uid = hello.uid_base,
                       .control_groups = hello.cgroup != kNoGroups,
                       .fuse = access("/dev/fuse", R_OK | W_OK) == 0};
  return facts;
}

std::vector<Feature> DescribeFeatures(const wire::Hello& hello, const compile::HostFacts& facts) {
  const std::string base = std::to_string(hello.uid_base);
  const std::string user = hello.rootless ? "uid " + base + " for all cells, the daemons' own"
                                          : "a host uid of its own per cell, from " + base;
  std::vector<Feature> features = {
      {"kernel", true, KernelRelease()},
      {"user", true, user + "; 1000 inside"},
      {"namespaces", true, "user pid mount net ipc uts cgroup; pid and mount again for commands"},
      {"landlock", facts.landlock.abi > 0, DescribeSupport(facts.landlock)},
      {"seccomp", true, "an allow list compiled into pid 1 of every cell"},
      {"cgroup", true,
       hello.cgroup == kNoGroups ? "none: without root, where none is delegated"
                                 : hello.cgroup + ": memory pids cpu"},
      {"no_new_privs", true, "and every capability set empty, the bounding set too"},
  };
  AddLandlockRights(facts.landlock.abi, &features);
  for (const compile::Weakness& weakness : compile::WeaknessesOf(facts.enforcement)) {
    features.push_back({"rootless_" + weakness.name, false, weakness.what});
  }
  return features;
}

}  // namespace odyssey::supervisor
