#include "supervisor/rpc/policy_check.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>

namespace odyssey::supervisor {
namespace {

class PolicyCheckTest : public ::testing::Test {
 protected:
  PolicyCheckTest() {
    facts_.system = {{"/usr", ""}};
    facts_.landlock = {landlock::Probe::kInForce, UINT32_MAX};
    char name[] = "/tmp/odyssey-check-XXXXXX";
    base_ = mkdtemp(name);
    std::filesystem::create_directory(base_ + "/policy.d");
    Write("grants: [{users: ['*'], read: [/srv/a]}]\n");
    gate_.emplace(base_ + "/policy.d", plan::CheckContext());
    check_.emplace(&*gate_, nullptr);
    auto* mount = request_.mutable_cell()->mutable_sandbox()->add_mounts();
    mount->set_source("/srv/a");
    mount->set_target("/srv/a");
    mount->set_access(policy::v1::ACCESS_READ_ONLY);
    auto* sandbox = request_.mutable_cell()->mutable_sandbox();
    sandbox->set_mode(policy::v1::MODE_WORKSPACE_WRITE);
    sandbox->set_network(policy::v1::NETWORK_NONE);
    sandbox->set_executables_mode(policy::v1::EXECUTABLES_MODE_STANDARD);
    request_.mutable_cell()->set_owner_uid(5000);
  }
  ~PolicyCheckTest() override { std::filesystem::remove_all(base_); }

  void Write(const std::string& text) const {
    std::ofstream(base_ + "/policy.d/10.yaml")
        << "version: odyssey.ceiling/v1\nbuiltin: false\n" + text;
  }
  v1::CheckPolicyResponse Ask() {
    v1::CheckPolicyResponse response;
    const Status status = check_->Answer(request_, facts_, &response);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return response;
  }

  std::string base_;
  compile::HostFacts facts_;
  std::optional<CeilingGate> gate_;
  std::optional<PolicyCheck> check_;
  v1::CheckPolicyRequest request_;
};

TEST_F(PolicyCheckTest, AnswersUnderTheCeilingOfNow) {
  EXPECT_EQ(Ask().verdict(), v1::POLICY_VERDICT_ALLOW);
  EXPECT_EQ(Ask().granted(0).value(), "/srv/a");
  EXPECT_GT(Ask().plan_size(), 0);
  Write("grants: [{users: ['*'], read: [/srv/b]}]\n");
  const v1::CheckPolicyResponse refused = Ask();
  EXPECT_EQ(refused.verdict(), v1::POLICY_VERDICT_DENY);
  EXPECT_EQ(refused.rule(), answer::kByCeiling);
  EXPECT_EQ(refused.refusal().failure().field(), "mounts[0].source");
  EXPECT_EQ(refused.policy_digest(), "");
}

TEST_F(PolicyCheckTest, AnswersForTheOwner) {
  Write("grants: [{users: ['5000'], read: [/srv/a]}]\n");
  EXPECT_EQ(Ask().verdict(), v1::POLICY_VERDICT_ALLOW);
  request_.mutable_cell()->set_owner_uid(5001);
  EXPECT_EQ(Ask().verdict(), v1::POLICY_VERDICT_DENY);
}

TEST_F(PolicyCheckTest, WithoutACellItDescribesTheCeiling) {
  request_.clear_cell();
  const v1::CheckPolicyResponse response = Ask();
  EXPECT_EQ(response.ceiling().directory(), base_ + "/policy.d");
  EXPECT_EQ(response.ceiling().rules_size(), 1);
  EXPECT_EQ(response.policy_digest(), "");
}

TEST_F(PolicyCheckTest, WhatIsNoRequestOrNoCeilingIsAnError) {
  v1::CheckPolicyResponse response;
  request_.mutable_cell()->mutable_sandbox()->mutable_mounts(0)->set_access(
      static_cast<policy::v1::Access>(99));
  EXPECT_EQ(check_->Answer(request_, facts_, &response).code(), Code::kInvalidArgument);
  Write("grant: []\n");
  EXPECT_EQ(check_->Answer(request_, facts_, &response).code(), Code::kFailedPrecondition);
}

}  // namespace
}  // namespace odyssey::supervisor
