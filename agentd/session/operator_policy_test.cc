#include "agentd/session/operator_policy.h"

#include <gtest/gtest.h>

#include "agentd/session/sessions.h"
#include "tests/fakes/bundle_source.h"
#include "tests/fakes/session_world.h"

namespace odyssey::session {
namespace {

using fakes::BundleSource;
using fakes::Say;
using fakes::SessionWorld;

constexpr uint32_t kOperator = 70009;

OperatorPolicy Policy(policy::Mode mode) {
  OperatorPolicy out;
  out.owner_uid = kOperator;
  out.request.mode = mode;
  out.request.network = policy::Network::kFull;
  out.request.env = {{"KEY", "sesame-open"}, {"LANG", "C.UTF-8"}};
  return out;
}

TurnSetup SessionSetup(policy::Mode mode, const std::string& workspace = "") {
  TurnSetup out;
  out.cell.key = {"ses_1", "a", "tooling", "tools"};
  out.cell.request.mode = mode;
  out.cell.request.workspace = workspace;
  out.cell.owner_uid = 70001;
  out.cell.bundle_digest = "d";
  return out;
}

TEST(UnderTest, HasTheSessionsDirectoriesAndTheOperatorsRights) {
  TurnSetup session = SessionSetup(policy::Mode::kReadOnly, "/store/tree");
  session.cell.request.limits.disk_bytes = 64 << 20;
  session.cell.request.env = {{"OWNERS", "secret"}};
  session.cell.allow_danger = true;
  const Result<TurnSetup> under = Under(Policy(policy::Mode::kReadOnly), session);
  ASSERT_TRUE(under.ok()) << under.status().ToString();
  EXPECT_EQ(under->cell.key, session.cell.key);
  EXPECT_EQ(under->cell.owner_uid, kOperator);
  EXPECT_EQ(under->cell.request.workspace, "/store/tree");
  EXPECT_EQ(under->cell.request.network, policy::Network::kFull);
  EXPECT_EQ(under->cell.request.limits.disk_bytes, uint64_t{64} << 20);
  EXPECT_EQ(under->cell.request.env, Policy(policy::Mode::kReadOnly).request.env)
      << "nothing of the owner's environment";
  EXPECT_FALSE(under->cell.allow_danger) << "the word was the owner's";
  EXPECT_TRUE(under->cell.spare_running) << "the session's jobs go on";
}

TEST(UnderTest, TheStoresCopyIsNotWrittenAndTheHostIsNotACell) {
  const auto code = [](policy::Mode operators, const TurnSetup& session) {
    return Under(Policy(operators), session).status().code();
  };
  using policy::Mode;
  EXPECT_EQ(code(Mode::kWorkspaceWrite, SessionSetup(Mode::kReadOnly, "/store/tree")),
            Code::kFailedPrecondition);
  EXPECT_EQ(code(Mode::kWorkspaceWrite, SessionSetup(Mode::kWorkspaceWrite)), Code::kOk);
  EXPECT_EQ(code(Mode::kReadOnly, SessionSetup(Mode::kWorkspaceWrite)), Code::kOk);
  EXPECT_EQ(code(Mode::kDangerFullAccess, SessionSetup(Mode::kWorkspaceWrite)),
            Code::kInvalidArgument);
  EXPECT_EQ(code(Mode::kReadOnly, SessionSetup(Mode::kDangerFullAccess, "/home/a")),
            Code::kFailedPrecondition);
}

TEST(UnderTest, ValuesOfItsOwnVariablesAreSecrets) {
  EXPECT_EQ(SecretsOf(Policy(policy::Mode::kReadOnly)),
            (std::map<std::string, std::string>{{"KEY", "sesame-open"}}));
}

class OwnPolicyTest : public ::testing::Test {
 protected:
  Result<std::string> Hold(std::shared_ptr<OperatorHold>* hold) {
    std::promise<Result<std::string>> held;
    const auto queued = world_.sessions().Hold(
        session_, [&](Result<std::string> cell) { held.set_value(std::move(cell)); },
        Policy(policy::Mode::kReadOnly));
    if (!queued.ok()) return queued.status();
    *hold = *queued;
    return held.get_future().get();
  }

  SessionWorld world_{[](const model::ModelRequest&, const model::ModelSink& sink,
                         std::stop_token) { return Say(sink, "hi"); }};
  const BundleSource bundle_;
  const std::string session_ = world_.Create(bundle_.path());
};

TEST_F(OwnPolicyTest, TheCellIsForThisHoldAlone) {
  world_.AwaitEnd(session_, world_.Submit(session_));
  std::shared_ptr<OperatorHold> hold;
  const Result<std::string> cell = Hold(&hold);
  ASSERT_TRUE(cell.ok()) << cell.status().ToString();
  const sandbox::CellSpec spec = world_.sandbox().prepared().back();
  EXPECT_EQ(spec.owner_uid, kOperator);
  EXPECT_EQ(spec.request.network, policy::Network::kFull);
  // What the operator's policy shows is not for the session's owner.
  EXPECT_EQ(world_.sessions().ReadFile(session_, "README.md", 0, 10).status().code(),
            Code::kFailedPrecondition);
  hold->Release();
  hold->WaitEnded();
  EXPECT_TRUE(world_.sandbox().ListCells()->empty()) << "it ended with the command";
  EXPECT_TRUE(world_.sessions().ReadFile(session_, "README.md", 0, 10).ok());
  EXPECT_EQ(world_.sandbox().prepared().back().request.network, policy::Network::kNone);
}

TEST_F(OwnPolicyTest, ANewWorkspaceIsFilledUnderTheSessionsOwnPolicy) {
  std::shared_ptr<OperatorHold> hold;
  ASSERT_TRUE(Hold(&hold).ok());
  EXPECT_EQ(world_.sandbox().files(session_).count("README.md"), 1u);
  hold->Release();
}

TEST_F(OwnPolicyTest, OneThatWaitsAndGivesUpEndsNoOther) {
  std::shared_ptr<OperatorHold> hold;
  ASSERT_TRUE(Hold(&hold).ok());
  const auto second = world_.sessions().Hold(
      session_, [](const Result<std::string>&) {}, Policy(policy::Mode::kReadOnly));
  ASSERT_TRUE(second.ok());
  world_.sessions().StopHold(session_, *second);
  EXPECT_EQ(world_.sandbox().ListCells()->size(), 1u);
  EXPECT_EQ(world_.sessions().ReadFile(session_, "README.md", 0, 10).status().code(),
            Code::kFailedPrecondition);
  hold->Release();
}

TEST_F(OwnPolicyTest, WhatTheOperatorMayNotIsRefusedBeforehand) {
  world_.sandbox().FailPrepare(PermissionDenied("network: not granted"));
  EXPECT_EQ(world_.sessions().CheckOperatorPolicy(session_, Policy(policy::Mode::kReadOnly)).code(),
            Code::kPermissionDenied);
}

}  // namespace
}  // namespace odyssey::session
