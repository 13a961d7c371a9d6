#include "policy/compile/limits.h"

#include <gtest/gtest.h>

#include "policy/compile/compile.h"
#include "policy/compile/environment.h"

namespace odyssey::compile {
namespace {

// Refused, not ignored: a bound that nothing enforces is worse than none.
TEST(DiskLimitTest, IsRefusedWhereNothingEnforcesIt) {
  policy::SandboxRequest request;
  EXPECT_TRUE(CheckDiskLimit(request).ok());
  request.limits.disk_bytes = 1000;
  const Status on_disk = CheckDiskLimit(request);
  EXPECT_EQ(on_disk.code(), Code::kFailedPrecondition);
  EXPECT_EQ(on_disk.message().find("limits.disk_bytes: 1000: "), 0u);
  EXPECT_NE(on_disk.message().find("limits.tmp_bytes, is allowed"), std::string::npos);
  request.ephemeral = true;
  EXPECT_EQ(CheckDiskLimit(request).code(), Code::kInvalidArgument);
}

TEST(DiskLimitTest, IsCheckedWhenARequestIsCompiled) {
  policy::SandboxRequest request;
  request.limits.disk_bytes = 1000;
  HostFacts facts;
  facts.system = {{"/usr", ""}};
  EXPECT_EQ(Compile(request, facts).status(), CheckDiskLimit(request));
}

TEST(EnvironmentTest, NobodyNamesTheRunButTheCell) {
  EXPECT_EQ(CheckEnvironment({{"ODYSSEY_RUN", "/etc"}}).message(),
            "env: name 'ODYSSEY_RUN': every command gets its own");
  EXPECT_TRUE(CheckEnvironment({{"ODYSSEY_RUNS", "x"}}).ok());
}

}  // namespace
}  // namespace odyssey::compile
