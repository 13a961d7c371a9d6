#include "supervisor/rpc/ceiling_gate.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "policy/model/default_limits.h"

namespace odyssey::supervisor {
namespace {

namespace fs = std::filesystem;

class CeilingGateTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string path = (fs::temp_directory_path() / "odyssey-gate-XXXXXX").string();
    ASSERT_NE(mkdtemp(path.data()), nullptr);
    parent_ = path;
    directory_ = parent_ + "/policy.d";
  }
  void TearDown() override { fs::remove_all(parent_); }

  void Write(const std::string& name, const std::string& rest) {
    fs::create_directory(directory_);
    std::ofstream(directory_ + "/" + name) << "version: odyssey.ceiling/v1\n"
                                           << rest << "builtin: false\n";
  }

  static policy::SandboxRequest Mounting(const std::string& source) {
    policy::SandboxRequest request;
    request.mounts = {{source, "/data"}};
    return request;
  }
  Status Ask(const policy::SandboxRequest& request, uint32_t uid = 4242) {
    return gate().Admit(request, uid, false).status();
  }
  CeilingGate& gate() {
    if (!gate_) gate_.emplace(directory_, plan::CheckContext{});
    return *gate_;
  }

  std::string parent_, directory_;
  std::optional<CeilingGate> gate_;
};

TEST_F(CeilingGateTest, WithoutADirectoryTheBuiltInOneHolds) {
  EXPECT_TRUE(Ask(Mounting("/srv")).ok());
  EXPECT_EQ(gate().Describe().detail, "built in, since there is no " + directory_ + ", sha256 " +
                                          ceiling::Digest(ceiling::BuiltIn()));
}

TEST_F(CeilingGateTest, ACommandsDefaultWallClockIsTheOperatorsBoundIfThatIsLess) {
  Write("10.yaml", "limits: {max: {wall_clock_s: 2}}\n");
  EXPECT_EQ(*gate().WallClockWithin(60'000), 2000u);
  EXPECT_EQ(*gate().WallClockWithin(1000), 1000u);
  EXPECT_EQ(*gate().WallClockWithin(0), 0u) << "the cell's";
}

TEST_F(CeilingGateTest, WhatTheFilesSayIsWhatHolds) {
  Write("10.yaml", "grants: [{users: ['4242'], read: [/srv]}]\n");
  EXPECT_TRUE(Ask(Mounting("/srv")).ok());
  EXPECT_FALSE(Ask(Mounting("/srv"), 4243).ok());
  Write("10.yaml", "grants: [{users: ['4242'], read: [/opt]}]\n");  // as long as before
  EXPECT_FALSE(Ask(Mounting("/srv")).ok());
  Write("20.yaml", "grants: [{users: ['4242'], read: [/srv]}]\n");
  EXPECT_TRUE(Ask(Mounting("/srv")).ok());
  EXPECT_NE(gate().Describe().detail.find("2 files in " + directory_), std::string::npos);
  fs::remove(directory_ + "/20.yaml");
  EXPECT_FALSE(Ask(Mounting("/srv")).ok());
}

TEST_F(CeilingGateTest, NothingIsAdmittedWhileAFileIsWrong) {
  Write("10.yaml", "grants: [{users: ['*'], read: [/srv]}]\n");
  Result<Admission> admission = gate().Admit(Mounting("/srv"), 4242, false);
  ASSERT_TRUE(admission.ok());
  Write("20.yaml", "grant: []\n");
  const Status refused = Ask(policy::SandboxRequest{});
  EXPECT_EQ(refused.code(), Code::kFailedPrecondition);
  EXPECT_NE(refused.message().find(directory_ + "/20.yaml:2: grant: unknown field"),
            std::string::npos)
      << refused.message();
  EXPECT_EQ(gate().StillAllows(&*admission).code(), Code::kFailedPrecondition);
  EXPECT_EQ(gate().Check().code(), Code::kFailedPrecondition);
  EXPECT_FALSE(gate().Describe().in_force);
  EXPECT_NE(gate().Describe().detail.find("20.yaml:2: grant"), std::string::npos);
  fs::remove(directory_ + "/20.yaml");
  EXPECT_TRUE(gate().StillAllows(&*admission).ok());
  EXPECT_TRUE(gate().Describe().in_force);
}

TEST_F(CeilingGateTest, NothingIsAdmittedWhileSomebodyElseCouldWriteAFile) {
  Write("10.yaml", "grants: [{users: ['*'], read: [/srv]}]\n");
  ASSERT_EQ(chmod((directory_ + "/10.yaml").c_str(), 0666), 0);
  EXPECT_EQ(Ask(Mounting("/srv")).code(), Code::kFailedPrecondition);
  ASSERT_EQ(chmod((directory_ + "/10.yaml").c_str(), 0644), 0);
  EXPECT_TRUE(Ask(Mounting("/srv")).ok());
}

TEST_F(CeilingGateTest, WhatAStricterCeilingRefusesIsNotUsedAgain) {
  Result<Admission> admission = gate().Admit(Mounting("/srv"), 4242, false);
  ASSERT_TRUE(admission.ok());
  EXPECT_TRUE(gate().StillAllows(&*admission).ok());
  Write("10.yaml", "grants: [{users: ['4242'], read: [/srv]}]\n");
  EXPECT_TRUE(gate().StillAllows(&*admission).ok());
  Write("10.yaml", "grants: [{users: ['4243'], read: [/srv]}]\n");
  EXPECT_EQ(gate().StillAllows(&*admission).code(), Code::kPermissionDenied);
  EXPECT_EQ(gate().StillAllows(&*admission).code(), Code::kPermissionDenied) << "the second time";
}

TEST_F(CeilingGateTest, ACommandsOwnWallClockIsBounded) {
  Write("10.yaml", "limits: {max: {wall_clock_s: 2}}\n");
  Result<Admission> admission = gate().Admit({}, 4242, false);
  ASSERT_TRUE(admission.ok());
  EXPECT_EQ(admission->request.limits.wall_clock_ms, 2000u) << "unlimited is not within a bound";
  EXPECT_TRUE(gate().StillAllows(&*admission, 2000).ok());
  EXPECT_EQ(gate().StillAllows(&*admission, 2001).message(),
            "start.wall_clock_ms: 2001: at most 2000 is allowed by " + directory_ + "/10.yaml:2");
}

TEST_F(CeilingGateTest, UnsetLimitsAreTheOperators) {
  Write("10.yaml", "limits: {default: {pids: 33}, max: {memory_mb: 100}}\n");
  const Result<Admission> admission = gate().Admit({}, 4242, false);
  ASSERT_TRUE(admission.ok());
  EXPECT_EQ(admission->request.limits.pids, 33u);
  EXPECT_EQ(admission->request.limits.memory_bytes, uint64_t{100} << 20);
  const policy::Limits defaults = gate().DefaultLimits();
  EXPECT_EQ(defaults.pids, 33u);
  EXPECT_EQ(defaults.memory_bytes, uint64_t{100} << 20);
  EXPECT_EQ(defaults.open_files, policy::kDefaultLimits.open_files);
}

TEST_F(CeilingGateTest, DangerNeedsThePersonsWordBesidesTheGrant) {
  const policy::SandboxRequest danger = {.mode = policy::Mode::kDangerFullAccess};
  Write("10.yaml", "grants: [{users: ['4242'], mode: [danger_full_access]}]\n");
  EXPECT_TRUE(gate().Admit(danger, 4242, true).ok());
  EXPECT_EQ(gate().Admit(danger, 4242, false).status().code(), Code::kPermissionDenied);
  EXPECT_EQ(gate().Admit(danger, 4243, true).status().code(), Code::kPermissionDenied);
  EXPECT_EQ(gate().Admit(danger, 0, true).status().code(), Code::kPermissionDenied);
}

}  // namespace
}  // namespace odyssey::supervisor
