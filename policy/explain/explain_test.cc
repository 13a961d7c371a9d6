#include "policy/explain/explain.h"

#include <gtest/gtest.h>

#include "policy/model/default_limits.h"
#include "tests/testing/hand_made_plan.h"

namespace odyssey::explain {
namespace {

using plan::Entry;
using plan::EntryKind;

// A plan of one of each.
class ExplainTest : public ::testing::Test {
 protected:
  ExplainTest() {
    compiled_.limits = policy::kDefaultLimits;
    compiled_.plan.entries = {
        testing::SystemTree(),
        testing::Link("/bin", "usr/bin"),
        testing::Link("/var/tmp", "../tmp"),
        {.kind = EntryKind::kFile, .target = "/etc/passwd", .source = "x"},
        {.kind = EntryKind::kTmpfs, .target = "/tmp", .access = plan::Access::kReadWrite},
        testing::HostTree("/workspace", "/home/u/project", plan::Access::kReadWrite),
        {.kind = EntryKind::kPart, .target = "/workspace/.git/hooks"},
        {.kind = EntryKind::kPart, .target = "/workspace/vendor"},
        testing::HostTree("/data", "/srv/data"),
    };
    compiled_.confinement.rules = testing::RulesWriting({"/dev/null", "/tmp", "/workspace"});
    request_.protect = {"vendor"};
  }

  Answer Path(const std::string& path, Access access) {
    return ExplainPath({request_, compiled_}, path, access);
  }
  Entry& EntryAt(const std::string& target) {
    for (Entry& entry : compiled_.plan.entries) {
      if (entry.target == target) return entry;
    }
    ADD_FAILURE() << target;
    return compiled_.plan.entries[0];
  }

  policy::SandboxRequest request_;
  compile::Compiled compiled_;
};

TEST_F(ExplainTest, GrantsSayTheirKeyToPrograms) {
  const auto says = [](const Grant& grant, Grant::Key key, const std::string& value) {
    EXPECT_EQ(grant.key, key) << grant.text;
    EXPECT_EQ(grant.value, value) << grant.text;
  };
  const Cell cell{request_, compiled_};
  says(Path("/data/x", Access::kWrite).grant, Grant::Key::kMountWrite, "/srv/data");
  says(Path("/srv/other", Access::kRead).grant, Grant::Key::kMountRead, "/srv/other");
  says(Path("/workspace/x", Access::kExecute).grant, Grant::Key::kAllExecutables, "");
  says(ExplainUnlisted("git").grant, Grant::Key::kExecutable, "git");
  says(ExplainNetwork(cell).grant, Grant::Key::kNetworkFull, "");
  // In the units of the field.
  says(ExplainLimit(cell, Limit::kWallClock, 1000).grant, Grant::Key::kLimit, "2000");
  says(ExplainLimit(cell, Limit::kMemory, policy::kMiB).grant, Grant::Key::kLimit,
       std::to_string(2 * policy::kMiB));
  EntryAt("/workspace").access = plan::Access::kReadOnly;
  says(Path("/workspace/x", Access::kWrite).grant, Grant::Key::kWorkspaceWrite, "");
}

TEST_F(ExplainTest, WhatThePlanAllowsIsAllowed) {
  EXPECT_TRUE(Path("/usr/bin/env", Access::kRead).allowed);
  EXPECT_TRUE(Path("/usr/bin/env", Access::kExecute).allowed);
  EXPECT_TRUE(Path("/tmp/x", Access::kWrite).allowed);
  EXPECT_TRUE(Path("/workspace/a/b", Access::kWrite).allowed);
  EXPECT_TRUE(Path("/data/x", Access::kRead).allowed);
  EXPECT_TRUE(Path("/", Access::kRead).allowed);
  EXPECT_TRUE(Path("/etc", Access::kRead).allowed);
  EXPECT_TRUE(Path("/dev/null", Access::kWrite).allowed);
}

TEST_F(ExplainTest, NobodyWritesTheSystemsTrees) {
  EXPECT_EQ(Path("/usr/x", Access::kWrite), (Answer{false, "mount /usr read_only", ""}));
  EXPECT_EQ(Path("/etc/passwd", Access::kWrite),
            (Answer{false, "mount /etc/passwd read_only", ""}));
  EXPECT_EQ(Path("/x", Access::kWrite).rule, "mount: nothing of the policy shows it");
  EXPECT_EQ(Path("/", Access::kWrite), (Answer{false, "mount / read_only", ""}));
}

TEST_F(ExplainTest, ReadOnlyMountNamesTheMountToWrite) {
  EXPECT_EQ(Path("/data/x", Access::kWrite),
            (Answer{false, "mount /data read_only",
                    "sandbox.permissions.filesystem.mounts.write: [\"/srv/data\"]"}));
}

// A mount inside a writable directory, which is a part of it.
TEST_F(ExplainTest, AReadOnlyPartThatIsAMountNamesIt) {
  request_.mounts = {{"/home/u/project/ro", "/workspace/ro"}};
  compiled_.plan.entries.push_back({.kind = EntryKind::kPart, .target = "/workspace/ro"});
  const Answer answer = Path("/workspace/ro/x", Access::kWrite);
  EXPECT_EQ(answer, (Answer{false, "mount /workspace/ro read_only",
                            "sandbox.permissions.filesystem.mounts.write: "
                            "[\"/home/u/project/ro\"]"}));
  EXPECT_EQ(answer.grant.key, Grant::Key::kMountWrite);
}

TEST_F(ExplainTest, ReadOnlyWorkspaceNamesTheMode) {
  EntryAt("/workspace").access = plan::Access::kReadOnly;
  EXPECT_EQ(Path("/workspace/x", Access::kWrite),
            (Answer{false, "mount /workspace read_only", "sandbox.mode: \"workspace_write\""}));
  EXPECT_EQ(Path("/workspace/.git/hooks/x", Access::kWrite).grant,
            "sandbox.mode: \"workspace_write\"");
}

TEST_F(ExplainTest, ProtectedPartsNameWhatProtectsThem) {
  EXPECT_EQ(Path("/workspace/.git/hooks/pre-commit", Access::kWrite),
            (Answer{false, "policy protection /workspace/.git/hooks read_only",
                    "sandbox.protection: \"none\""}));
  EXPECT_EQ(Path("/workspace/vendor/x", Access::kWrite).grant,
            "sandbox.protect: without \"vendor\"");
  EXPECT_TRUE(Path("/workspace/vendors", Access::kWrite).allowed);
}

TEST_F(ExplainTest, DeniedNamesNameTheirPattern) {
  compiled_.confinement.guards = {{.path = "/workspace", .deny = {"secrets/**", "**/.env"}}};
  for (const Access access : {Access::kRead, Access::kWrite, Access::kExecute}) {
    EXPECT_EQ(Path("/workspace/a/.env", access),
              (Answer{false, "policy deny **/.env", "sandbox.deny: without \"**/.env\""}));
  }
  EXPECT_EQ(Path("/workspace/secrets/x", Access::kRead).rule, "policy deny secrets/**");
  EXPECT_TRUE(Path("/workspace/secrets.txt", Access::kRead).allowed);
  EXPECT_TRUE(Path("/workspace", Access::kRead).allowed);
  EXPECT_TRUE(Path("/data/.env", Access::kRead).allowed) << "another tree";
}

TEST_F(ExplainTest, WhatNothingShowsNamesTheMountToRead) {
  EXPECT_EQ(Path("/srv/other", Access::kRead),
            (Answer{false, "mount: nothing of the policy shows it",
                    "sandbox.permissions.filesystem.mounts.read: [\"/srv/other\"]"}));
}

TEST_F(ExplainTest, WhatNoPolicyMayShowHasNoGrant) {
  EXPECT_EQ(Path("/etc/shadow", Access::kRead).grant, "");
  EXPECT_EQ(Path("/boot/vmlinuz", Access::kRead).grant, "");
}

TEST_F(ExplainTest, NoexecTreesNameTheModeOfExecutables) {
  EXPECT_EQ(Path("/workspace/x", Access::kExecute),
            (Answer{false, "mount /workspace noexec", "sandbox.system_tools_mode: \"all\""}));
  EXPECT_EQ(Path("/tmp/x", Access::kExecute).rule, "mount /tmp noexec");
}

TEST_F(ExplainTest, ExplicitModeNamesTheTool) {
  request_.executables_mode = policy::ExecutablesMode::kExplicit;
  compiled_.confinement.rules[1] = {"/usr/bin/env", cell::kRead | cell::kExecute};
  EXPECT_TRUE(Path("/usr/bin/env", Access::kExecute).allowed);
  EXPECT_EQ(Path("/usr/bin/nc", Access::kExecute),
            (Answer{false, "policy system_tools_mode explicit",
                    "sandbox.system_tools: [\"/usr/bin/nc\"]"}));
  EXPECT_EQ(Path("/data/x", Access::kExecute).grant, "sandbox.system_tools: [\"/data/x\"]");
}

// A policy that names such a file is refused: the grant would be none.
TEST_F(ExplainTest, ExplicitModeNamesNoToolThatACommandCanWrite) {
  request_.executables_mode = policy::ExecutablesMode::kExplicit;
  for (const char* path : {"/workspace/x", "/workspace/.git/hooks/x", "/tmp/x"}) {
    EXPECT_EQ(Path(path, Access::kExecute).grant, "sandbox.system_tools_mode: \"all\"") << path;
  }
}

// The second wall: a tree that is writable as a mount and not in Landlock's rules.
TEST_F(ExplainTest, LandlockIsNamedWhereItAloneRefuses) {
  compiled_.confinement.rules.pop_back();
  EXPECT_EQ(Path("/workspace/x", Access::kWrite),
            (Answer{false, "landlock: not a writable tree of the plan", ""}));
  EXPECT_EQ(Path("/proc/sys/kernel/core_pattern", Access::kWrite),
            (Answer{false, "landlock: the kernel's own files", ""}));
}

TEST_F(ExplainTest, NetworkNamesItsGrant) {
  EXPECT_EQ(ExplainNetwork({request_, compiled_}),
            (Answer{false, "network none", "sandbox.permissions.network: [\"*\"]"}));
  compiled_.plan.network = plan::Network::kFull;
  EXPECT_TRUE(ExplainNetwork({request_, compiled_}).allowed);
}

TEST_F(ExplainTest, LimitsNameTwiceTheirValue) {
  compiled_.limits.memory_bytes = uint64_t{512} << 20;
  compiled_.limits.pids = 64;
  const Cell cell{request_, compiled_};
  EXPECT_EQ(ExplainLimit(cell, Limit::kMemory),
            (Answer{false, "cgroup memory_bytes 536870912", "sandbox.resources.memory_mb: 1024"}));
  EXPECT_EQ(ExplainLimit(cell, Limit::kPids),
            (Answer{false, "cgroup pids 64", "sandbox.resources.pids: 128"}));
  EXPECT_EQ(ExplainLimit(cell, Limit::kWallClock, 300),
            (Answer{false, "policy wall_clock_ms 300", "sandbox.resources.wall_clock_s: 1"}));
}

TEST_F(ExplainTest, PathsAreResolvedByTheirText) {
  const Cell cell{request_, compiled_};
  EXPECT_EQ(ResolveInCell(cell, "/workspace", "a/./b//../c"), "/workspace/a/c");
  EXPECT_EQ(ResolveInCell(cell, "/workspace", "../../../usr/"), "/usr");
  EXPECT_EQ(ResolveInCell(cell, "/workspace", "/bin/sh"), "/usr/bin/sh");
  EXPECT_EQ(ResolveInCell(cell, "/workspace", "/var/tmp/x"), "/tmp/x");
  EXPECT_EQ(ResolveInCell(cell, "/workspace", "/bin"), "/usr/bin");
  EXPECT_EQ(ResolveInCell(cell, "/workspace", "/"), "/");
  EXPECT_EQ(ResolveInCell(cell, "/workspace", ""), "");
  EXPECT_EQ(ResolveInCell(cell, "/workspace", std::string("/a\0b", 4)), "");
}

TEST_F(ExplainTest, LinksThatLeadInCirclesEnd) {
  compiled_.plan.entries.push_back({.kind = EntryKind::kSymlink, .target = "/a", .source = "b"});
  compiled_.plan.entries.push_back({.kind = EntryKind::kSymlink, .target = "/b", .source = "a"});
  EXPECT_FALSE(ResolveInCell({request_, compiled_}, "/", "/a/x").empty());
}

TEST_F(ExplainTest, HostileNamesStayInsideTheirQuotes) {
  EXPECT_EQ(Path("/q\"]\\", Access::kRead).grant,
            "sandbox.permissions.filesystem.mounts.read: [\"/q\\\"]\\\\\"]");
}

}  // namespace
}  // namespace odyssey::explain
