#include "supervisor/rpc/plan_cache.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "tests/fakes/elf_file.h"
#include "tests/fakes/temporary_directory.h"

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
  const fakes::TemporaryDirectory host_;
  PlanCache cache_{host_.path()};
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
  fakes::ElfFile loader, tool, other;
  tool.Interpreter("/lib64/ld.so");
  other.Interpreter("/lib64/ld.so");
  other.bytes += "another";
  const auto write = [&](const std::string& path, const fakes::ElfFile& file) {
    std::filesystem::remove(host_.path() + "/" + path);
    chmod(host_.Write(path, file.bytes).c_str(), 0755);
  };
  write("usr/lib64/ld.so", loader);
  write("usr/bin/tool", tool);
  std::filesystem::create_symlink("usr/lib64", host_.path() + "/lib64");
  request_.executables_mode = policy::ExecutablesMode::kExplicit;
  request_.executables = {"tool"};
  const std::string before = Digest();
  EXPECT_EQ(Digest(), before);
  EXPECT_EQ(cache_.compiles(), 1u);
  write("usr/bin/tool", other);
  EXPECT_NE(Digest(), before);
  std::filesystem::remove(host_.path() + "/usr/bin/tool");
  EXPECT_EQ(cache_.Compile(request_, owner_, facts_).status().code(), Code::kNotFound);
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
