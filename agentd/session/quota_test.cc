#include "agentd/session/quota.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "agentd/session/sessions.h"
#include "tests/fakes/bundle_source.h"
#include "tests/fakes/session_world.h"

namespace odyssey::session {
namespace {

using fakes::BundleSource;
using fakes::CallOnce;
using fakes::Say;
using fakes::SessionWorld;

constexpr uint32_t kAlice = 70001, kBob = 70002;
constexpr char kWriteA[] = R"({"content":"x","path":"a"})";

void SetQuotas(const SessionWorld& world, const std::string& quotas) {
  const std::string directory = world.state() + "/policy.d";
  std::filesystem::create_directory(directory);
  std::filesystem::permissions(directory, std::filesystem::perms(0755));
  std::ofstream(directory + "/10.yaml") << "version: odyssey.ceiling/v1\nquotas:\n" << quotas;
  std::filesystem::permissions(directory + "/10.yaml", std::filesystem::perms(0644));
}

Result<SessionPtr> Create(SessionWorld& world, const BundleSource& bundle, uint32_t owner) {
  return world.sessions().Create({bundle.path(), "/", {}, "", owner});
}

fakes::FakeModelClient::Function Talk() {
  return [](const model::ModelRequest&, const model::ModelSink& sink, std::stop_token) {
    return Say(sink, "hi");
  };
}

// A model that waits for `release` in every turn.
class Gate {
 public:
  fakes::FakeModelClient::Function Function() {
    return [this](const model::ModelRequest&, const model::ModelSink& sink, std::stop_token) {
      ODY_RETURN_IF_ERROR(Say(sink, "x"));
      released_.wait();
      return OkStatus();
    };
  }
  void Release() { release_.set_value(); }

 private:
  std::promise<void> release_;
  std::shared_future<void> released_ = release_.get_future().share();
};

TEST(CheckQuotaTest, NamesTheBoundTheUseAndTheFile) {
  ceiling::Quota quota;
  EXPECT_TRUE(CheckQuota(quota, ceiling::Counted::kTurns, 1'000'000, kAlice).ok());
  quota[static_cast<size_t>(ceiling::Counted::kTurns)] = {3, {"/p/10.yaml", 7}};
  EXPECT_TRUE(CheckQuota(quota, ceiling::Counted::kTurns, 2, kAlice).ok());
  const Status full = CheckQuota(quota, ceiling::Counted::kTurns, 3, kAlice);
  EXPECT_EQ(full.code(), Code::kResourceExhausted);
  EXPECT_EQ(full.message(),
            "quota.turns: 3: so much is in use by uid 70001; at most 3 is allowed by /p/10.yaml:7");
}

TEST(QuotaTest, SessionsAreBoundedByUserWhereTheyAreMade) {
  SessionWorld world(Talk());
  const BundleSource bundle;
  SetQuotas(world, "  - {users: ['70001'], sessions: 2}\n");
  const Result<SessionPtr> first = Create(world, bundle, kAlice);
  ASSERT_TRUE(first.ok()) << first.status().ToString();
  ASSERT_TRUE(world.sessions().Fork((*first)->id).ok());
  EXPECT_EQ(Create(world, bundle, kAlice).status().code(), Code::kResourceExhausted);
  EXPECT_EQ(world.sessions().Fork((*first)->id).status().code(), Code::kResourceExhausted);
  EXPECT_EQ(world.store().size(), 2u) << "nothing is left of a refused one";
  EXPECT_TRUE(Create(world, bundle, kBob).ok());
  ASSERT_TRUE(world.sessions().Delete((*first)->id).ok());
  EXPECT_TRUE(Create(world, bundle, kAlice).ok());
}

TEST(QuotaTest, TurnsThatWaitAndRunAreBoundedAndASeenKeyIsAnswered) {
  Gate gate;
  SessionWorld world(gate.Function(), {.workers = 1});
  const BundleSource bundle;
  SetQuotas(world, "  - {users: ['*'], turns: 2}\n");
  const std::string a = (*Create(world, bundle, kAlice))->id;
  const std::string b = (*Create(world, bundle, kAlice))->id;
  const std::string bobs = (*Create(world, bundle, kBob))->id;
  const std::string first = world.Submit(a);
  world.Await(a, event::Event::kAgentMessageDelta);
  const auto keyed = world.sessions().Submit(b, "go", std::nullopt, {0, "key"});
  ASSERT_TRUE(keyed.ok());
  const Status refused = world.sessions().Submit(a, "more").status();
  EXPECT_EQ(refused.code(), Code::kResourceExhausted);
  EXPECT_NE(refused.message().find("quota.turns: 2"), std::string::npos) << refused.message();
  EXPECT_EQ((*world.sessions().Get(a))->turns.size(), 1u) << "no trace of the refused one";
  const auto again = world.sessions().Submit(b, "go", std::nullopt, {0, "key"});
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_EQ(again->turn_id, keyed->turn_id);
  EXPECT_TRUE(world.sessions().Submit(bobs, "go").ok());
  gate.Release();
  world.AwaitEnd(a, first);
  world.AwaitEnd(b, keyed->turn_id);
  for (const std::string& id : {a, b}) world.AwaitEmptyQueue(id);
  EXPECT_TRUE(world.sessions().Submit(a, "more").ok());
}

TEST(QuotaTest, QueuedTurnsOfBeforeARestartAreNotRefused) {
  Gate gate;
  SessionWorld world(
      [&gate, hang = gate.Function()](const auto& request, const auto& sink, std::stop_token stop) {
        if (fakes::PromptOf(request) != "hang") return Say(sink, "hi");
        ODY_RETURN_IF_ERROR(Say(sink, "x"));
        std::promise<void> stopped;
        const std::stop_callback on_stop(stop, [&] { stopped.set_value(); });
        stopped.get_future().wait();
        return Cancelled("stopped");
      },
      {.workers = 1});
  const BundleSource bundle;
  const std::string session = (*Create(world, bundle, kAlice))->id;
  world.Submit(session, "hang");
  world.Await(session, event::Event::kAgentMessageDelta);
  const std::string second = world.Submit(session, "b"), third = world.Submit(session, "c");
  SetQuotas(world, "  - {users: ['*'], turns: 1}\n");
  world.Restart();
  EXPECT_EQ(world.AwaitEnd(session, second).status, TurnStatus::kCompleted);
  EXPECT_EQ(world.AwaitEnd(session, third).status, TurnStatus::kCompleted);
}

TEST(QuotaTest, AnIdleCellOfTheUserIsEndedFirstAndNeverABusyOne) {
  SessionWorld world(CallOnce("Write", kWriteA));
  const BundleSource plain, asks("{ask: [Write]}");
  SetQuotas(world, "  - {users: ['70001'], cells: 1}\n");
  const std::string idle = (*Create(world, plain, kAlice))->id;
  const std::string bobs = (*Create(world, plain, kBob))->id;
  EXPECT_EQ(world.RunTurn(idle).status, TurnStatus::kCompleted);
  EXPECT_EQ(world.RunTurn(bobs).status, TurnStatus::kCompleted);
  EXPECT_EQ(world.sandbox().ListCells()->size(), 2u);

  const std::string busy = (*Create(world, asks, kAlice))->id;
  const std::string waits = world.Submit(busy);
  const std::string request =
      world.Await(busy, event::Event::kPermissionRequested).permission_requested().request_id();
  std::vector<std::string> live;
  const std::vector<sandbox::Cell> cells = *world.sandbox().ListCells();
  for (const sandbox::Cell& cell : cells) live.push_back(cell.key.session_id);
  EXPECT_EQ(std::count(live.begin(), live.end(), idle), 0);
  EXPECT_EQ(std::count(live.begin(), live.end(), busy), 1);
  EXPECT_EQ(std::count(live.begin(), live.end(), bobs), 1) << "another user's";
  EXPECT_EQ(world.sandbox().files(idle).count("a"), 1u) << "its files stay";

  const TurnRecord refused = world.RunTurn(idle);
  EXPECT_EQ(refused.status, TurnStatus::kFailed);
  EXPECT_NE(refused.error.find("quota.cells: 1"), std::string::npos) << refused.error;
  world.approvals().Resolve(request, {approval::Decision::kAllowOnce, "", 5});
  EXPECT_EQ(world.AwaitEnd(busy, waits).status, TurnStatus::kCompleted);
  world.AwaitEmptyQueue(busy);
  EXPECT_EQ(world.RunTurn(idle).status, TurnStatus::kCompleted);
}

TEST(QuotaTest, WhatIsOnDiskIsCountedAndBounded) {
  SessionWorld world(Talk());
  const BundleSource bundle;
  bundle.Write("large", std::string(2 << 20, 'x'));
  const std::string session = (*Create(world, bundle, kAlice))->id;
  EXPECT_GT(CountDiskBytes(kAlice, world.sessions().runtime()), uint64_t{2} << 20);
  EXPECT_EQ(CountDiskBytes(kBob, world.sessions().runtime()), 0u);
  SetQuotas(world, "  - {users: ['*'], disk_mb: 1}\n");
  for (const Status& refused :
       {Create(world, bundle, kAlice).status(), world.sessions().Submit(session, "go").status(),
        world.sessions().CheckDiskQuota(kAlice)}) {
    EXPECT_EQ(refused.code(), Code::kResourceExhausted);
    EXPECT_NE(refused.message().find("quota.disk_bytes"), std::string::npos);
  }
  EXPECT_TRUE(world.sessions().CheckDiskQuota(kBob).ok());
}

TEST(QuotaTest, AFullSupervisorIsGivenAnIdleCellBack) {
  SessionWorld world(CallOnce("Write", kWriteA));
  world.sandbox().most_cells = 2;
  const BundleSource bundle;
  std::vector<std::string> sessions;
  for (int i = 0; i < 4; ++i) {
    sessions.push_back(world.Create(bundle.path()));
    EXPECT_EQ(world.RunTurn(sessions.back()).status, TurnStatus::kCompleted);
    world.clock().Advance(std::chrono::seconds(1));
  }
  const std::vector<sandbox::Cell> cells = *world.sandbox().ListCells();
  ASSERT_EQ(cells.size(), 2u);
  for (const sandbox::Cell& cell : cells) {
    EXPECT_TRUE(cell.key.session_id == sessions[2] || cell.key.session_id == sessions[3])
        << "the one without work for the longest goes first";
  }
}

// A job's, or that of another client.
TEST(QuotaTest, ACellInWhichACommandRunsIsNotEndedForAnother) {
  SessionWorld world(CallOnce("Write", kWriteA));
  world.sandbox().most_cells = 1;
  const BundleSource bundle;
  const std::string busy = world.Create(bundle.path()), other = world.Create(bundle.path());
  EXPECT_EQ(world.RunTurn(busy).status, TurnStatus::kCompleted);
  world.sandbox().running_execs = 1;
  EXPECT_EQ(world.RunTurn(other).status, TurnStatus::kFailed);
  world.sandbox().running_execs = 0;
  EXPECT_EQ(world.RunTurn(other).status, TurnStatus::kCompleted);
}

TEST(QuotaTest, UseAndBoundsAreTold) {
  SessionWorld world(Talk());
  const BundleSource bundle;
  SetQuotas(world, "  - {users: ['*'], sessions: 9, disk_mb: 5}\n");
  const std::string session = (*Create(world, bundle, kAlice))->id;
  world.RunTurn(session);
  const auto told = world.sessions().GetQuota(kAlice);
  ASSERT_TRUE(told.ok());
  EXPECT_EQ(told->used().sessions(), 1u);
  EXPECT_EQ(told->used().cells(), 1u);
  EXPECT_EQ(told->used().turns(), 0u);
  EXPECT_GT(told->used().disk_bytes(), 0u);
  EXPECT_EQ(told->bounds().sessions(), 9u);
  EXPECT_EQ(told->bounds().cells(), 0u);
  EXPECT_EQ(told->bounds().disk_bytes(), uint64_t{5} << 20);
}

TEST(QuotaTest, AWrongFileRefuses) {
  SessionWorld world(Talk());
  const BundleSource bundle;
  SetQuotas(world, "  - {users: ['*'], sesions: 9, turns: 1}\n");
  const Status refused = Create(world, bundle, kAlice).status();
  EXPECT_NE(refused.message().find("10.yaml:3: quotas[0].sesions: unknown field"),
            std::string::npos)
      << refused.message();
}

}  // namespace
}  // namespace odyssey::session
