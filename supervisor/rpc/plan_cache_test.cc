#include "supervisor/rpc/plan_cache.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace odyssey::supervisor {
namespace {

class PlanCacheTest : public ::testing::Test {
 protected:
  PlanCacheTest() {
    facts_.system = {{"/usr", ""}};
    facts_.landlock = {landlock::Probe::kInForce, UINT32_MAX};
    request_.mounts = {{.source = "/srv/a", .target = "/srv/a"}};
    request_.env = {{"A", "1"}};
  }

  std::string Digest() {
    const auto compiled = cache_.Compile(request_, owner_, facts_);
    EXPECT_TRUE(compiled.ok()) << compiled.status().ToString();
    return compiled.ok() ? compiled->digest : "";
  }

  compile::HostFacts facts_;
  policy::SandboxRequest request_;
  ceiling::Owner owner_ = {.uid = 5000, .name = "ada"};
  PlanCache cache_;
};

TEST_F(PlanCacheTest, UnchangedRequestIsCompiledOnce) {
  const std::string digest = Digest();
  EXPECT_EQ(Digest(), digest);
  EXPECT_EQ(cache_.compiles(), 1u);
}

TEST_F(PlanCacheTest, EveryChangeIsCompiled) {
  const std::string digest = Digest();
  request_.limits.pids = 100;
  EXPECT_NE(Digest(), digest);
  request_.mounts[0].source = "/srv/b";
  Digest();
  request_.env["A"] = "2";
  Digest();
  owner_.uid = 5001;
  Digest();
  EXPECT_EQ(cache_.compiles(), 5u);
}

TEST_F(PlanCacheTest, RefusalsAreNotKept) {
  request_.limits.pids = 3;
  EXPECT_FALSE(cache_.Compile(request_, owner_, facts_).ok());
  EXPECT_FALSE(cache_.Compile(request_, owner_, facts_).ok());
  EXPECT_EQ(cache_.compiles(), 2u);
}

TEST_F(PlanCacheTest, ProgramThatWasReplacedIsCompiledAgain) {
  // In the system's trees, so that the finder looks at it.
  char name[] = "/usr/local/bin/odyssey-plan-XXXXXX";
  const int fd = mkstemp(name);
  if (fd < 0) GTEST_SKIP() << "needs to write /usr/local/bin";
  close(fd);
  const auto write = [&](const std::string& text) {
    std::filesystem::remove(name);
    std::ofstream(name) << "#!/bin/sh\n" << text;
    chmod(name, 0755);
  };
  write("true\n");
  request_.executables_mode = policy::ExecutablesMode::kExplicit;
  request_.executables = {name};
  const std::string before = Digest();
  write("false # another\n");
  EXPECT_NE(Digest(), before);
  std::filesystem::remove(name);
  EXPECT_FALSE(cache_.Compile(request_, owner_, facts_).ok());
}

TEST_F(PlanCacheTest, OnlyTheLatestAreKept) {
  for (uint32_t pids = 100; pids < 200; ++pids) {
    request_.limits.pids = pids;
    Digest();
  }
  Digest();
  EXPECT_EQ(cache_.compiles(), 100u);
  request_.limits.pids = 100;
  Digest();
  EXPECT_EQ(cache_.compiles(), 101u);
}

}  // namespace
}  // namespace odyssey::supervisor
