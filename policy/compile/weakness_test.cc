#include "policy/compile/weakness.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "policy/model/default_limits.h"

namespace odyssey::compile {
namespace {

using policy::Network;
using policy::SandboxRequest;

constexpr Enforcement kBare = {.rootless_uid = 1000, .control_groups = false, .fuse = false};
constexpr Enforcement kDelegated = {.rootless_uid = 1000};

bool Names(const std::vector<Weakness>& weaknesses, const std::string& name) {
  return std::any_of(weaknesses.begin(), weaknesses.end(),
                     [&](const Weakness& weakness) { return weakness.name == name; });
}

SandboxRequest WithMemory(uint64_t bytes, uint64_t unsaid) {
  SandboxRequest request;
  request.limits.memory_bytes = bytes;
  request.unsaid_limits.memory_bytes = unsaid;
  return request;
}

TEST(WeaknessTest, RootHasNoneAndRefusesNothing) {
  EXPECT_TRUE(WeaknessesOf({}).empty());
  SandboxRequest request = WithMemory(1, 0);
  request.network = Network::kFull;
  request.limits.disk_bytes = 1;
  request.deny = {"*.env"};
  EXPECT_TRUE(CheckEnforced(request, {}).ok());
}

TEST(WeaknessTest, NamesWhatIsRefused) {
  for (const char* name : {"uid", "groups", "mounts", "network", "disk", "memory", "cpu", "pids",
                           "suspend", "deny", "danger", "audit", "kernel_limits"}) {
    EXPECT_TRUE(Names(WeaknessesOf(kBare), name)) << name;
  }
  for (const char* name : {"memory", "cpu", "pids", "suspend", "deny"}) {
    EXPECT_FALSE(Names(WeaknessesOf(kDelegated), name)) << name;
  }
}

TEST(WeaknessTest, RefusesALimitThatWasAskedForAndNoDefault) {
  EXPECT_TRUE(CheckEnforced(SandboxRequest(), kBare).ok());
  EXPECT_TRUE(CheckEnforced(WithMemory(512, 512), kBare).ok());
  const Status refused = CheckEnforced(WithMemory(512, 0), kBare);
  EXPECT_EQ(refused.code(), Code::kFailedPrecondition);
  EXPECT_EQ(refused.detail().field, "limits.memory_bytes");
  EXPECT_EQ(refused.detail().value, "512");
  EXPECT_EQ(CheckEnforced(WithMemory(256, 512), kBare).code(), Code::kFailedPrecondition);
  EXPECT_TRUE(CheckEnforced(WithMemory(512, 0), kDelegated).ok());
}

TEST(WeaknessTest, RefusesTheCpuTheDiskTheNetworkAndDeniedNames) {
  const auto field = [](const SandboxRequest& request) {
    return CheckEnforced(request, kBare).detail().field;
  };
  SandboxRequest cpu, disk, network, deny;
  cpu.limits.cpu_millis = 500;
  disk.limits.disk_bytes = uint64_t{64} << 20;
  network.network = Network::kFull;
  deny.deny = {"**/.env"};
  EXPECT_EQ(field(cpu), "limits.cpu_millis");
  EXPECT_EQ(field(disk), "limits.disk_bytes");
  EXPECT_EQ(field(network), "network");
  EXPECT_EQ(field(deny), "deny");
}

TEST(WeaknessTest, AllowsLimitsThatNeedNoControlGroup) {
  SandboxRequest request;
  request.limits.pids = 9;
  request.limits.open_files = 64;
  request.limits.tmp_bytes = uint64_t{1} << 20;
  request.limits.file_bytes = uint64_t{1} << 20;
  EXPECT_TRUE(CheckEnforced(request, kBare).ok());
}

TEST(WeaknessTest, UnsaidLimitsAreThoseFilledIn) {
  SandboxRequest request = WithMemory(512, 512);
  request.limits.pids = 9;
  const policy::Limits unsaid = policy::UnsaidLimits(request);
  EXPECT_EQ(unsaid.memory_bytes, 512u);
  EXPECT_EQ(unsaid.pids, 0u);
  EXPECT_EQ(unsaid.cpu_millis, policy::kDefaultLimits.cpu_millis);
}

}  // namespace
}  // namespace odyssey::compile
