// Against directories that look like control groups; the kernel's own are seen by the integration
// tests.

#include "supervisor/root/cgroup.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "common/os/file.h"
#include "tests/fakes/temporary_directory.h"

namespace odyssey::root {
namespace {

namespace fs = std::filesystem;

class CgroupTest : public ::testing::Test {
 protected:
  // The files that the kernel would have made.
  void AddFiles(const std::string& group, const std::vector<std::string>& names) {
    for (const std::string& name : names) directory_.Write(group + "/" + name, "");
  }
  std::string Content(const std::string& file) const {
    return ReadFile(directory_.path() + "/" + file, 1000).value();
  }
  CgroupLayout V2() const {
    const std::string& all = directory_.path();
    return {.v2 = true, .unified = all, .memory = all, .pids = all, .cpu = all};
  }
  CgroupLayout V1() const {
    for (const char* name : {"unified", "memory", "pids", "cpu,cpuacct"}) {
      fs::create_directories(directory_.path() + "/" + name);
    }
    const std::string cpu = directory_.path() + "/cpu,cpuacct";
    return {.unified = directory_.path() + "/unified",
            .memory = directory_.path() + "/memory",
            .pids = directory_.path() + "/pids",
            .cpu = cpu,
            .cpuacct = cpu};
  }

  const fakes::TemporaryDirectory directory_;
  const CellLimits limits_{.memory_bytes = 1 << 30, .cpu_millis = 1500, .pids = 64};
};

TEST_F(CgroupTest, V2PutsEveryLimitInOneGroup) {
  AddFiles("tree", {"cgroup.subtree_control"});
  CgroupTree tree(V2(), "tree");
  ASSERT_TRUE(tree.Open().ok());
  EXPECT_EQ(Content("tree/cgroup.subtree_control"), "+memory +pids +cpu");
  ASSERT_TRUE(tree.Create("cell").ok());
  AddFiles("tree/cell", {"memory.max", "memory.swap.max", "pids.max", "cpu.max"});
  ASSERT_TRUE(tree.SetLimits("cell", limits_).ok());
  EXPECT_EQ(Content("tree/cell/memory.max"), "1073741824");
  EXPECT_EQ(Content("tree/cell/memory.swap.max"), "0");
  EXPECT_EQ(Content("tree/cell/pids.max"), "64");
  EXPECT_EQ(Content("tree/cell/cpu.max"), "150000 100000");
}

TEST_F(CgroupTest, V1PutsEachLimitInItsHierarchy) {
  CgroupTree tree(V1(), "tree");
  ASSERT_TRUE(tree.Open().ok());
  ASSERT_TRUE(tree.Create("cell").ok());
  AddFiles("memory/tree/cell", {"memory.limit_in_bytes", "memory.memsw.limit_in_bytes",
                                "memory.kmem.tcp.limit_in_bytes"});
  AddFiles("pids/tree/cell", {"pids.max"});
  AddFiles("cpu,cpuacct/tree/cell", {"cpu.cfs_quota_us"});
  ASSERT_TRUE(tree.SetLimits("cell", limits_).ok());
  EXPECT_EQ(Content("memory/tree/cell/memory.limit_in_bytes"), "1073741824");
  EXPECT_EQ(Content("memory/tree/cell/memory.kmem.tcp.limit_in_bytes"), "268435456");
  EXPECT_EQ(Content("memory/tree/cell/memory.memsw.limit_in_bytes"), "1073741824");
  EXPECT_EQ(Content("pids/tree/cell/pids.max"), "64");
  EXPECT_EQ(Content("cpu,cpuacct/tree/cell/cpu.cfs_quota_us"), "150000");
  EXPECT_TRUE(fs::is_directory(directory_.path() + "/unified/tree/cell")) << "for cgroup.kill";
}

TEST_F(CgroupTest, ALimitThatCannotBeSetIsAnErrorThatNamesTheFile) {
  AddFiles("tree", {"cgroup.subtree_control"});
  CgroupTree tree(V2(), "tree");
  ASSERT_TRUE(tree.Open().ok());
  ASSERT_TRUE(tree.Create("cell").ok());
  AddFiles("tree/cell", {"memory.max", "cpu.max"});
  const Status status = tree.SetLimits("cell", limits_);
  EXPECT_NE(status.message().find("/tree/cell/pids.max"), std::string::npos) << status.message();
}

TEST_F(CgroupTest, KillsByTheUnifiedHierarchyAndRemovesEverywhere) {
  CgroupTree tree(V1(), "tree");
  ASSERT_TRUE(tree.Open().ok());
  ASSERT_TRUE(tree.Create("cell").ok());
  EXPECT_FALSE(tree.Create("cell").ok()) << "the same group twice";
  AddFiles("unified/tree/cell", {"cgroup.kill"});
  tree.Kill("cell");
  EXPECT_EQ(Content("unified/tree/cell/cgroup.kill"), "1");
  EXPECT_FALSE(tree.Remove("cell")) << "one of them is not empty";
  EXPECT_FALSE(fs::exists(directory_.path() + "/memory/tree/cell"));
  fs::remove(directory_.path() + "/unified/tree/cell/cgroup.kill");
  EXPECT_TRUE(tree.Remove("cell"));
  EXPECT_TRUE(tree.Remove("cell")) << "again is no failure";
}

TEST_F(CgroupTest, ReadsUsageOfBothKinds) {
  CgroupTree v2(V2(), "tree");
  directory_.Write("tree/cell/memory.current", "4096\n");
  directory_.Write("tree/cell/cpu.stat", "nr_periods 9\nusage_usec 77\nuser_usec 1\n");
  directory_.Write("tree/cell/pids.current", "3\n");
  directory_.Write("tree/cell/pids.events", "max 6\n");
  directory_.Write("tree/cell/memory.events", "low 0\noom 5\noom_kill 2\noom_group_kill 0\n");
  const wire::CellUsage usage = v2.Usage("cell");
  EXPECT_EQ(usage.memory_bytes, 4096u);
  EXPECT_EQ(usage.cpu_usec, 77u);
  EXPECT_EQ(usage.processes, 3u);
  EXPECT_EQ(usage.oom_kills, 2u);
  EXPECT_EQ(usage.pids_refused, 6u);

  CgroupTree v1(V1(), "tree");
  directory_.Write("memory/tree/cell/memory.usage_in_bytes", "8192\n");
  directory_.Write("memory/tree/cell/memory.oom_control", "oom_kill_disable 0\noom_kill 4\n");
  directory_.Write("pids/tree/cell/pids.current", "5\n");
  directory_.Write("pids/tree/cell/pids.events", "max 8\n");
  directory_.Write("cpu,cpuacct/tree/cell/cpuacct.usage", "9000\n");
  const wire::CellUsage old = v1.Usage("cell");
  EXPECT_EQ(old.memory_bytes, 8192u);
  EXPECT_EQ(old.oom_kills, 4u);
  EXPECT_EQ(old.processes, 5u);
  EXPECT_EQ(old.pids_refused, 8u);
  EXPECT_EQ(old.cpu_usec, 9u);
}

TEST_F(CgroupTest, SweepsItsCellsAndItselfAndNothingElse) {
  CgroupTree mine(V1(), "odyssey-1"), other(V1(), "odyssey-2");
  ASSERT_TRUE(mine.Open().ok() && other.Open().ok());
  ASSERT_TRUE(mine.Create("a").ok() && mine.Create("b").ok() && other.Create("a").ok());
  mine.Sweep();
  EXPECT_FALSE(fs::exists(directory_.path() + "/memory/odyssey-1"));
  EXPECT_TRUE(fs::exists(directory_.path() + "/memory/odyssey-2/a"));
}

TEST_F(CgroupTest, SweepsTheTreesOfTheDeadOnly) {
  const std::string mine = "odyssey-" + std::to_string(getpid());
  for (const std::string& name : {mine, std::string("odyssey-4194305"), std::string("other-9")}) {
    CgroupTree tree(V1(), name);
    ASSERT_TRUE(tree.Open().ok() && tree.Create("cell").ok());
  }
  SweepDeadTrees(V1(), "odyssey-");  // 4194305 is beyond any pid_max
  EXPECT_FALSE(fs::exists(directory_.path() + "/pids/odyssey-4194305"));
  EXPECT_TRUE(fs::exists(directory_.path() + "/pids/" + mine));
  EXPECT_TRUE(fs::exists(directory_.path() + "/pids/other-9"));
}

}  // namespace
}  // namespace odyssey::root
