#include "policy/compile/limits.h"

#include <gtest/gtest.h>

#include "policy/compile/compile.h"
#include "policy/compile/environment.h"
#include "policy/model/policy_keys.h"

namespace odyssey::compile {
namespace {

// By the field, what was given, and what is allowed.
TEST(LimitsTest, EachHasALeastAndAMost) {
  for (const policy::LimitKey& field : policy::kLimitKeys) {
    const auto set = [&](uint64_t value) {
      policy::Limits limits;
      field.set(&limits, value);
      return EffectiveLimits(limits, {}).status();
    };
    EXPECT_TRUE(set(field.least).ok()) << field.name;
    EXPECT_TRUE(set(field.most).ok()) << field.name;
    const std::string allowed =
        std::to_string(field.least) + " to " + std::to_string(field.most) + " is allowed";
    const std::string name = "limits." + std::string(field.name) + ": ";
    if (field.least > 1) {
      const std::string less = std::to_string(field.least - 1);
      EXPECT_EQ(set(field.least - 1), InvalidArgument(name + less + ": " + allowed));
    }
    if (field.most == UINT32_MAX) continue;  // the most of its type
    const std::string more = std::to_string(field.most + 1);
    EXPECT_EQ(set(field.most + 1), InvalidArgument(name + more + ": " + allowed));
  }
}

TEST(LimitsTest, TheMostOfATypeIsRefused) {
  for (const uint64_t value : {uint64_t{1} << 50, UINT64_MAX}) {
    EXPECT_EQ(EffectiveLimits({.disk_bytes = value}, {}).status().code(), Code::kInvalidArgument);
    EXPECT_EQ(EffectiveLimits({.memory_bytes = value}, {}).status().code(), Code::kInvalidArgument);
    EXPECT_EQ(EffectiveLimits({.tmp_bytes = value}, {}).status().code(), Code::kInvalidArgument);
  }
}

TEST(DiskLimitTest, NeedsADisk) {
  policy::SandboxRequest request;
  EXPECT_TRUE(CheckDiskLimit(request).ok());
  request.limits.disk_bytes = kMinDiskBytes;
  EXPECT_TRUE(CheckDiskLimit(request).ok());
  request.ephemeral = true;
  const Status in_memory = CheckDiskLimit(request);
  EXPECT_EQ(in_memory.code(), Code::kInvalidArgument);
  EXPECT_NE(in_memory.message().find("limits.tmp_bytes"), std::string::npos);
}

TEST(DiskLimitTest, IsTheSizeOfTheCellsDiskAndPartOfItsIdentity) {
  policy::SandboxRequest request;
  HostFacts facts;
  facts.system = {{"/usr", ""}};
  facts.landlock = {landlock::Probe::kInForce, 6};
  const auto unbounded = Compile(request, facts);
  ASSERT_TRUE(unbounded.ok()) << unbounded.status().ToString();
  EXPECT_EQ(unbounded->plan.disk_bytes, 0u);
  request.limits.disk_bytes = kMinDiskBytes;
  const auto bounded = Compile(request, facts);
  ASSERT_TRUE(bounded.ok()) << bounded.status().ToString();
  EXPECT_EQ(bounded->plan.disk_bytes, kMinDiskBytes);
  EXPECT_NE(bounded->digest, unbounded->digest);
  EXPECT_EQ(bounded->explanation.size(), unbounded->explanation.size() + 1);
  request.limits.disk_bytes = 1000;
  EXPECT_EQ(Compile(request, facts).status(), EffectiveLimits(request.limits, {}).status());
}

TEST(EnvironmentTest, NobodyNamesTheRunButTheCell) {
  EXPECT_EQ(CheckEnvironment({{"ODYSSEY_RUN", "/etc"}}).message(),
            "env: ODYSSEY_RUN: every command gets its own; any other name is allowed");
  EXPECT_EQ(CheckEnvironment({{"ODYSSEY_SANDBOX", "0"}}).message(),
            "env: ODYSSEY_SANDBOX: every command gets its own; any other name is allowed");
  EXPECT_TRUE(CheckEnvironment({{"ODYSSEY_RUNS", "x"}}).ok());
}

}  // namespace
}  // namespace odyssey::compile
