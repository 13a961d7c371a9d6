#include "policy/explain/denial.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>

#include "policy/model/default_limits.h"
#include "tests/testing/hand_made_plan.h"

namespace odyssey::explain {
namespace {

using plan::EntryKind;

class DenialTest : public ::testing::Test {
 protected:
  DenialTest() {
    compiled_.limits = policy::kDefaultLimits;
    compiled_.plan.entries = {
        testing::SystemTree(),
        {.kind = EntryKind::kCellTree, .target = "/workspace", .access = plan::Access::kReadWrite},
    };
    compiled_.confinement.rules = testing::RulesWriting({"/workspace"});
  }

  Cell cell() { return {request_, compiled_}; }
  // `name` on a host that has ls.
  std::optional<Denial> Unlisted(const std::string& name) {
    return UnlistedDenial(
        cell(),
        {{name},
         "/workspace",
         [](const std::string& program) { return program == "ls" ? "/usr/bin/ls" : ""; }},
        name);
  }

  policy::SandboxRequest request_;
  compile::Compiled compiled_;
};

TEST_F(DenialTest, ProgramThatThePolicyDoesNotName) {
  EXPECT_EQ(Unlisted("ls"), std::nullopt) << "no list has left it out";
  request_.executables_mode = policy::ExecutablesMode::kExplicit;
  EXPECT_EQ(Unlisted("ls"), std::nullopt) << "it may be executed";
  compiled_.plan.entries[0].executable = false;
  EXPECT_EQ(Unlisted("ls"), (Denial{"exec", "ls", "execute", "policy system_tools_mode explicit",
                                    "sandbox.system_tools: [\"ls\"]"}));
  EXPECT_EQ(Unlisted("no-such"), std::nullopt) << "no policy would make it run";
  EXPECT_EQ(Unlisted("d/ls"), std::nullopt);
  request_.mode = policy::Mode::kDangerFullAccess;
  EXPECT_EQ(Unlisted("ls"), std::nullopt);
}

TEST_F(DenialTest, AddressesAndNamesOfACellWithoutANetwork) {
  EXPECT_EQ(NetworkDenial(cell(), {SYS_connect, {}, 3, 7, "curl", "192.0.2.1:443"}),
            (Denial{"network", "192.0.2.1:443", "connect", "network none",
                    "sandbox.permissions.network: [\"*\"]", "curl[7]", 3}));
  EXPECT_EQ(NetworkDenial(cell(), {.count = 1, .destination = "example.org"}),
            (Denial{"network", "example.org", "resolve", "network none",
                    "sandbox.permissions.network: [\"*\"]"}));
}

TEST_F(DenialTest, CommandThatMayNotBeExecuted) {
  const auto of = [this](const std::string& name) {
    return ExecuteDenial(cell(), {{name}, "/workspace", {}});
  };
  EXPECT_EQ(of("./x"), (Denial{"exec", "/workspace/x", "execute", "mount /workspace noexec",
                               "sandbox.system_tools_mode: \"all\""}));
  EXPECT_EQ(of("/usr/share/doc/x").rule, "mode: the file may not be executed");
}

TEST_F(DenialTest, LongResourceIsCutAndNothingIsGrantedForIt) {
  const Denial denial = PathDenial("/data/" + std::string(900, 'x'), Access::kRead,
                                   {false, "policy deny **/x*", "sandbox.deny: without …"});
  EXPECT_EQ(denial.resource.size(), kMaxResource);
  EXPECT_EQ(denial.grant, "") << "of what is not said";
}

TEST_F(DenialTest, Description) {
  EXPECT_EQ(DescribeDenial({"path", "/usr/x", "write", "mount /usr read_only"}),
            "write /usr/x (mount /usr read_only)");
  EXPECT_EQ(DescribeDenial({"network", "", "connect", "network none", "a: [\"*\"]"}),
            "connect (network none); to allow: a: [\"*\"]");
}

}  // namespace
}  // namespace odyssey::explain
