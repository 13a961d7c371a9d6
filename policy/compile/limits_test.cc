#include "policy/compile/limits.h"

#include <gtest/gtest.h>

#include "policy/compile/compile.h"
#include "policy/compile/environment.h"

namespace odyssey::compile {
namespace {

TEST(DiskLimitTest, NeedsADiskAndRoomForAFileSystem) {
  policy::SandboxRequest request;
  EXPECT_TRUE(CheckDiskLimit(request).ok());
  request.limits.disk_bytes = kMinDiskBytes;
  EXPECT_TRUE(CheckDiskLimit(request).ok());
  request.limits.disk_bytes = kMinDiskBytes - 1;
  EXPECT_EQ(CheckDiskLimit(request),
            InvalidArgument("limits.disk_bytes: 16777215: at least 16777216 is allowed"));
  request.limits.disk_bytes = kMinDiskBytes;
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
  EXPECT_EQ(Compile(request, facts).status(), CheckDiskLimit(request));
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
