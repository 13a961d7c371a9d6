#include "policy/dialect/origin.h"

#include <gtest/gtest.h>

#include "tests/testing/refusal.h"

namespace odyssey::dialect {
namespace {

class OriginsTest : public ::testing::Test {
 protected:
  OriginsTest() {
    origins_.Add("mounts[1]", {"p.yaml", 7, "mounts.read[0]"});
    origins_.Add("env", {"p.yaml", 2, "sandbox.env"});
    origins_.Add("env.LANG", {"p.yaml", 3, "sandbox.env.LANG"});
    origins_.Add("limits.pids", {"q.yaml", 9, "resources.pids"});
    origins_.Add("executables", {"p.yaml", 4, "system_tools"});
    origins_.Add("executables[0]", {"p.yaml", 4, "system_tools[0]"});
    origins_.Add("executables_mode", {"p.yaml", 5, "system_tools_mode"});
  }

  std::string Locate(const std::string& message) const {
    return origins_.Locate(testing::RefusalOf(message)).message();
  }

  Origins origins_;
};

TEST_F(OriginsTest, PutsFileLineAndKeyInPlaceOfTheField) {
  EXPECT_EQ(Locate("mounts[1].source: /proc: no"), "p.yaml:7: mounts.read[0]: /proc: no");
  EXPECT_EQ(Locate("mounts[1].source /proc: no"), "p.yaml:7: mounts.read[0]: /proc: no");
  EXPECT_EQ(Locate("mounts[1].target: /a: no"), "p.yaml:7: mounts.read[0]: target: /a: no");
  EXPECT_EQ(Locate("limits.pids: 9: at most 8"), "q.yaml:9: resources.pids: 9: at most 8");
  EXPECT_EQ(Locate("executables: /a may be executed"),
            "p.yaml:4: system_tools: /a may be executed");
  EXPECT_EQ(origins_.Locate(testing::RefusalOf("limits.pids: 9: x")).code(),
            Code::kPermissionDenied);
}

TEST_F(OriginsTest, FindsTheVariableThatIsMeant) {
  EXPECT_EQ(Locate("env: LANG: not granted"), "p.yaml:3: sandbox.env.LANG: LANG: not granted");
  EXPECT_EQ(Locate("env: LANG"), "p.yaml:3: sandbox.env.LANG: LANG");
  EXPECT_EQ(Locate("env: name 'A B': no"), "p.yaml:2: sandbox.env: name 'A B': no");
}

TEST_F(OriginsTest, SaysWhatIsWrittenWhereTheRequestHasAnotherValue) {
  origins_.Add("limits.memory_bytes", {"p.yaml", 6, "resources.memory_mb", "600"});
  origins_.Add("mounts[2]", {"p.yaml", 8, "mounts.write[0]", "."});
  origins_.Add("mode", {"p.yaml", 1, "mode", "danger_full_access"});
  EXPECT_EQ(Locate("limits.memory_bytes: 629145600: at most 1"),
            "p.yaml:6: resources.memory_mb: 600: limits.memory_bytes: 629145600: at most 1");
  EXPECT_EQ(Locate("mounts[2].source: /srv/a: no"),
            "p.yaml:8: mounts.write[0]: .: mounts[2].source: /srv/a: no");
  EXPECT_EQ(Locate("mode: danger_full_access: no"), "p.yaml:1: mode: danger_full_access: no");
  origins_.Add("executables[1]", {"p.yaml", 9, "system_tools[1]", "gcc"});
  EXPECT_EQ(Locate("executables[1]: 'gcc': no"), "p.yaml:9: system_tools[1]: 'gcc': no");
  const auto missing = [&](const std::string& tool) {
    const Status status = OfField("executables", NotFound("missing system tool: " + tool), tool);
    return origins_.Locate(status).message();
  };
  EXPECT_EQ(missing("gcc"), "p.yaml:9: system_tools[1]: missing system tool: gcc");
  EXPECT_EQ(missing("gcc-12"), "p.yaml:4: system_tools: missing system tool: gcc-12");
  EXPECT_EQ(Locate("executables[1]: /usr/bin/gcc-12: no"),
            "p.yaml:9: system_tools[1]: gcc: executables[1]: /usr/bin/gcc-12: no");
  EXPECT_EQ(Locate("mode: danger_full_access"), "p.yaml:1: mode: danger_full_access");
}

TEST_F(OriginsTest, NamesTheFilesOfACopyFromItsDirectory) {
  origins_.Add("mode", {"/store/a/m.yaml", 1, "mode"});
  origins_.Add("user", {"/store/ab/m.yaml", 2, "user"});
  origins_.NameFrom("/store/a");
  EXPECT_EQ(Locate("mode: x: no"), "m.yaml:1: mode: x: no");
  EXPECT_EQ(Locate("user: 0: no"), "/store/ab/m.yaml:2: user: 0: no");
}

TEST_F(OriginsTest, GivesTheSameInParts) {
  origins_.Add("user", {"p.yaml", 2, "sandbox.user", "7"});
  EXPECT_EQ(origins_.ToProblem(testing::RefusalOf("user: 7: no")),
            (Problem{.file = "p.yaml", .line = 2, .key = "sandbox.user", .message = "7: no"}));
  EXPECT_EQ(origins_.ToProblem(testing::RefusalOf("connect: refused")), std::nullopt);
}

TEST_F(OriginsTest, LeavesWhatItDoesNotKnowAsItIs) {
  for (const char* message : {"mounts[2].source: /x: no", "mounts: target /a lies inside", "", ":",
                              "limits.pids", "connect: refused", "env", "deny[0]: x"}) {
    EXPECT_EQ(Locate(message), message);
  }
}

TEST_F(OriginsTest, ForgetsAFieldWithItsEntriesAndNoOther) {
  origins_.Forget("executables");
  EXPECT_EQ(origins_.Find("executables"), nullptr);
  EXPECT_EQ(origins_.Find("executables[0]"), nullptr);
  EXPECT_NE(origins_.Find("executables_mode"), nullptr);
  origins_.Forget("env.LANG");
  EXPECT_EQ(origins_.Find("env.LANG"), nullptr);
  EXPECT_NE(origins_.Find("env"), nullptr);
}

}  // namespace
}  // namespace odyssey::dialect
