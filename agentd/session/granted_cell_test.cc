#include "agentd/session/granted_cell.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/base/refusal.h"
#include "tests/fakes/bundle_source.h"
#include "tests/fakes/session_world.h"

namespace odyssey::session {
namespace {

namespace sup = ::odyssey::supervisor::v1;
using approval::Decision;
using event::Event;
using fakes::BundleSource;
using fakes::SessionWorld;
using Json = nlohmann::json;

constexpr char kData[] = "/srv/data";
constexpr char kPlain[] = R"({"command":"plain"})";
constexpr char kWrites[] =
    R"({"command":"write","grants":[{"mount_write":"/srv/data"}],"reason":"to build"})";

bool Shows(const sandbox::CellSpec& spec, const std::string& source) {
  return std::any_of(spec.request.mounts.begin(), spec.request.mounts.end(),
                     [&](const policy::Mount& mount) { return mount.source == source; });
}

class GrantedCellTest : public ::testing::Test {
 protected:
  GrantedCellTest() {
    // Whether the cell of each command shows the directory.
    world_.sandbox().on_exec = [this](const sup::ExecStart&, const sandbox::ExecSink& sink,
                                      std::stop_token) -> Result<sup::ExecOutcome> {
      ODY_RETURN_IF_ERROR(fakes::Begin(sink));
      seen_.push_back(Shows(world_.sandbox().prepared().back(), kData));
      return fakes::Exited();
    };
    world_.sandbox().on_remove = [this] { ++removed_; };
  }

  std::string Create(const std::string& rules = "{}") {
    bundle_ = std::make_unique<BundleSource>(rules);
    return world_.Create(bundle_->path());
  }
  // Submits a turn whose call asks, and answers it.
  TurnRecord Ask(const std::string& session, const approval::Answer& answer,
                 const std::string& call = kWrites) {
    const std::string turn = world_.Submit(session, call);
    asked_ = world_.Await(session, Event::kPermissionRequested, last_).permission_requested();
    EXPECT_TRUE(approval::CheckAnswer(asked_, answer).ok());
    EXPECT_TRUE(world_.approvals().Resolve(asked_.request_id(), answer));
    return End(session, turn);
  }
  TurnRecord Run(const std::string& session, const std::string& call = kPlain) {
    return End(session, world_.Submit(session, call));
  }
  TurnRecord End(const std::string& session, const std::string& turn) {
    TurnRecord ended = world_.AwaitEnd(session, turn);
    last_ = (*world_.sessions().JournalOf(session))->last_sequence();
    return ended;
  }
  // Reasons of the grants that have ended.
  std::vector<std::string> Ends(const std::string& session) {
    std::vector<std::string> out;
    for (const Event& event : world_.Events(session)) {
      if (event.has_grant_ended()) out.push_back(event.grant_ended().reason());
    }
    return out;
  }

  static approval::Answer ForTheSession(uint64_t duration_ms = 0) {
    approval::Answer answer{Decision::kAllowOnce, "", 5};
    answer.grant_scope = agent::v1::GRANT_SCOPE_SESSION;
    answer.grant_duration_ms = duration_ms;
    return answer;
  }
  static approval::Answer ForTheCall() { return {Decision::kAllowOnce, "", 5}; }

  SessionWorld world_{fakes::CallBash};
  std::unique_ptr<BundleSource> bundle_;
  agent::v1::PermissionRequested asked_;
  uint64_t last_ = 0;
  std::vector<bool> seen_;
  int removed_ = 0;
};

TEST_F(GrantedCellTest, AGrantForTheCallEndsWithItsCell) {
  const std::string session = Create();
  EXPECT_EQ(Ask(session, ForTheCall()).status, TurnStatus::kCompleted);
  EXPECT_EQ(asked_.rule(), "") << "no rule asks";
  EXPECT_EQ(asked_.scope(), "") << "nothing is allowed always";
  EXPECT_EQ(asked_.reason(), "to build");
  ASSERT_EQ(asked_.grants().grants_size(), 1);
  EXPECT_EQ(asked_.grants().grants(0).value(), kData);
  EXPECT_EQ(seen_, std::vector<bool>{true});
  EXPECT_EQ(removed_, 1) << "with every process that is left";
  const sandbox::CellSpec granted = world_.sandbox().prepared().back();
  EXPECT_TRUE(granted.spare_running);
  EXPECT_EQ(granted.granted_by, std::vector<std::string>{asked_.request_id()});
  const auto resolved = world_.Await(session, Event::kApprovalResolved).approval_resolved();
  EXPECT_EQ(resolved.grant_scope(), agent::v1::GRANT_SCOPE_CALL);
  EXPECT_FALSE(resolved.has_grants_expire_at());
  EXPECT_TRUE(world_.sessions().GrantsOf(session).empty());

  Run(session);
  EXPECT_EQ(seen_, (std::vector<bool>{true, false}));
  EXPECT_EQ(world_.sandbox().prepared().back().request,
            world_.sandbox().prepared().front().request);
  EXPECT_TRUE(Ends(session).empty());
}

TEST_F(GrantedCellTest, AGrantForTheCallIsNotForTheNextOneOfItsTurn) {
  const std::string session = Create();
  Ask(session, ForTheCall(), std::string(kWrites) + "\n" + kPlain);
  EXPECT_EQ(seen_, (std::vector<bool>{true, false}));
}

TEST_F(GrantedCellTest, ADenialAddsNothing) {
  const std::string session = Create();
  const TurnRecord turn = Ask(session, {Decision::kDeny, "no", 5});
  EXPECT_EQ(turn.response, R"({"error":"permission denied: tool Bash was denied: no"})");
  EXPECT_TRUE(seen_.empty());
  EXPECT_EQ(world_.sandbox().prepared().size(), 1u);
}

TEST_F(GrantedCellTest, NoRuleAndNoEarlierAnswerAllowsMore) {
  const std::string session = Create("{ask: [Bash]}");
  Ask(session, {Decision::kAllowAlways, "", 5}, R"({"command":"write"})");
  Run(session, R"({"command":"write"})");
  Ask(session, ForTheCall());
  EXPECT_EQ(asked_.rule(), "Bash");
  EXPECT_EQ(seen_, (std::vector<bool>{false, false, true}));
}

TEST_F(GrantedCellTest, ARuleThatDeniesIsNotOverruled) {
  const std::string session = Create("{deny: ['Bash(write:*)']}");
  world_.sandbox().on_check = [](const sandbox::CellSpec& spec) {
    return spec.granted_by.empty() && !Shows(spec, kData) ? OkStatus() : Internal("was asked");
  };
  EXPECT_NE(Run(session, kWrites).response.find("tool Bash(write:*) is denied"), std::string::npos);
  EXPECT_EQ(world_.approvals().last_ordinal(), 0u);
}

TEST_F(GrantedCellTest, WhatTheOperatorRefusesIsAskedOfNobody) {
  const std::string session = Create();
  world_.sandbox().on_check = [](const sandbox::CellSpec& spec) {
    return Shows(spec, kData) ? Refused(Code::kPermissionDenied, "mounts[0].source", kData,
                                        "writing it is not granted")
                              : OkStatus();
  };
  const TurnRecord turn = Run(session, kWrites);
  EXPECT_EQ(turn.response, R"({"error":"permission denied: grants: mount_write /srv/data: )"
                           R"(/srv/data: writing it is not granted"})");
  EXPECT_EQ(world_.approvals().last_ordinal(), 0u);
  EXPECT_TRUE(seen_.empty());
}

TEST_F(GrantedCellTest, AGrantForTheSessionHoldsUntilItIsRevoked) {
  const std::string session = Create();
  Ask(session, ForTheSession());
  EXPECT_EQ(removed_, 0);
  Run(session);
  Run(session, kWrites);
  EXPECT_EQ(seen_, (std::vector<bool>{true, true, true}));
  EXPECT_EQ(world_.approvals().last_ordinal(), 1u) << "what is granted is not asked for again";
  const std::vector<SessionGrant> granted = world_.sessions().GrantsOf(session);
  ASSERT_EQ(granted.size(), 1u);
  EXPECT_EQ(granted[0].by_uid, 5u);

  EXPECT_EQ(world_.sessions().RevokeGrant(session, "apr_other", 7).code(), Code::kNotFound);
  EXPECT_TRUE(world_.sessions().RevokeGrant(session, granted[0].id, 7).ok());
  EXPECT_EQ(world_.sessions().RevokeGrant(session, granted[0].id, 7).code(), Code::kNotFound);
  Run(session);
  EXPECT_FALSE(seen_.back());
  EXPECT_FALSE(world_.sandbox().prepared().back().spare_running)
      << "what runs with it ends with it";
  const auto ended = world_.Await(session, Event::kGrantEnded).grant_ended();
  EXPECT_EQ(ended.reason(), "revoked");
  EXPECT_EQ(ended.by_uid(), 7u);
  EXPECT_EQ(ended.turn_id(), "");
}

TEST_F(GrantedCellTest, AGrantForATimeExpires) {
  const std::string session = Create();
  Ask(session, ForTheSession(60'000));
  const auto resolved = world_.Await(session, Event::kApprovalResolved).approval_resolved();
  EXPECT_EQ(resolved.grant_scope(), agent::v1::GRANT_SCOPE_SESSION);
  EXPECT_EQ(resolved.grants_expire_at(), "2026-03-24T09:31:00.000Z");
  world_.clock().Advance(std::chrono::milliseconds(59'999));
  Run(session);
  EXPECT_TRUE(seen_.back());
  world_.clock().Advance(std::chrono::milliseconds(1));
  EXPECT_TRUE(world_.sessions().GrantsOf(session).empty());
  Run(session);
  EXPECT_FALSE(seen_.back());
  EXPECT_EQ(Ends(session), std::vector<std::string>{"expired"});
}

TEST_F(GrantedCellTest, WhatTheOperatorAllowsNoLongerEnds) {
  const std::string session = Create();
  Ask(session, ForTheSession());
  world_.sandbox().on_check = [](const sandbox::CellSpec& spec) {
    return Shows(spec, kData) ? PermissionDenied("no longer") : OkStatus();
  };
  EXPECT_EQ(Run(session).status, TurnStatus::kCompleted);
  EXPECT_FALSE(seen_.back());
  EXPECT_EQ(Ends(session), std::vector<std::string>{"refused"});
}

TEST_F(GrantedCellTest, WhatTheHostDoesNotHaveIsAFailureOfTheCall) {
  const std::string session = Create();
  bool prepares = false;  // CheckCell does not look at the host
  world_.sandbox().on_check = [&](const sandbox::CellSpec& spec) {
    return prepares && Shows(spec, kData) ? NotFound("open /srv/data: none") : OkStatus();
  };
  const std::string turn = world_.Submit(session, kWrites);
  const auto asked = world_.Await(session, Event::kPermissionRequested).permission_requested();
  prepares = true;
  EXPECT_TRUE(world_.approvals().Resolve(asked.request_id(), ForTheSession()));
  EXPECT_EQ(End(session, turn).response, R"({"error":"execution failed: open /srv/data: none"})");
  EXPECT_TRUE(seen_.empty());
  EXPECT_EQ(Ends(session), std::vector<std::string>{"refused"});
  EXPECT_EQ(Run(session).status, TurnStatus::kCompleted);
  EXPECT_EQ(seen_, std::vector<bool>{false});
}

TEST_F(GrantedCellTest, CommandsThatRunAreNotKilledForMore) {
  const std::string session = Create();
  Run(session);
  world_.sandbox().running_execs = 1;
  EXPECT_NE(Run(session, kWrites).response.find("grants: 1 commands run in the session's cell"),
            std::string::npos);
  EXPECT_EQ(world_.approvals().last_ordinal(), 0u);
}

TEST_F(GrantedCellTest, AHigherLimitBindsTheCommand) {
  const std::string session = Create();
  uint32_t wall_clock_ms = 0;
  world_.sandbox().on_exec = [&](const sup::ExecStart& start, const sandbox::ExecSink& sink,
                                 std::stop_token) -> Result<sup::ExecOutcome> {
    ODY_RETURN_IF_ERROR(fakes::Begin(sink));
    wall_clock_ms = start.default_wall_clock_ms();
    return fakes::Exited();
  };
  Ask(session, ForTheCall(),
      R"({"command":"x","grants":[{"limit":"wall_clock_ms","value":90000}]})");
  EXPECT_EQ(asked_.grants().grants(0).present(), "60000");
  EXPECT_EQ(wall_clock_ms, 90'000u);
  Run(session);
  EXPECT_EQ(wall_clock_ms, 60'000u);
  Run(session, R"({"command":"x","grants":[{"limit":"wall_clock_ms","value":59000}]})");
  EXPECT_EQ(wall_clock_ms, 60'000u) << "not asked about: it has more";
}

TEST_F(GrantedCellTest, NeitherForkNorRestartKeepsThem) {
  const std::string session = Create();
  Ask(session, ForTheSession());
  const Result<SessionPtr> copy = world_.sessions().Fork(session);
  ASSERT_TRUE(copy.ok());
  EXPECT_TRUE(world_.sessions().GrantsOf((*copy)->id).empty());
  Run((*copy)->id);
  EXPECT_FALSE(seen_.back());
  world_.Restart();
  Run(session);
  EXPECT_FALSE(seen_.back());
}

TEST_F(GrantedCellTest, ReadingAFileLeavesTheCellAsItIs) {
  const std::string session = Create();
  Ask(session, ForTheSession());
  const size_t cells = world_.sandbox().prepared().size();
  (void)world_.sessions().ReadFile(session, "x", 0, 10);
  EXPECT_TRUE(world_.sandbox().prepared().size() == cells ||
              Shows(world_.sandbox().prepared().back(), kData));
}

TEST_F(GrantedCellTest, AReviewedSessionWritesToNothingDirectly) {
  bundle_ = std::make_unique<BundleSource>();
  bundle_->Write("odyssey.bundle.json5",
                 "{id: 'demo', version: '0.1.0', manifest_version: 'odyssey.bundle/v1',\n"
                 " readme: 'README.md', agent_spec: 'agent.yaml',\n"
                 " executor: {type: 'prebuilt', id: 'react'}, tools: [{name: 'Bash'}],\n"
                 " sandbox: {mode: 'workspace_write', system_tools_mode: 'standard',\n"
                 "  permissions: {filesystem: {mounts: {write: ['/srv/project']}}}}}\n");
  NewSession spec;
  spec.bundle = bundle_->path();
  spec.cwd = "/";
  spec.review = true;
  const Result<SessionPtr> session = world_.sessions().Create(spec);
  ASSERT_TRUE(session.ok()) << session.status().ToString();
  EXPECT_NE(
      Run((*session)->id, kWrites)
          .response.find(
              "grants: mount_write /srv/data: the session writes to host directories on a copy"),
      std::string::npos);
  EXPECT_EQ(world_.approvals().last_ordinal(), 0u);
}

TEST_F(GrantedCellTest, TheHostItselfIsGrantedNothing) {
  bundle_ = std::make_unique<BundleSource>("{}", "danger_full_access");
  NewSession spec;
  spec.bundle = bundle_->path();
  spec.cwd = "/";
  spec.allow_danger = true;
  const Result<SessionPtr> session = world_.sessions().Create(spec);
  ASSERT_TRUE(session.ok()) << session.status().ToString();
  EXPECT_NE(Run((*session)->id, kWrites).response.find("danger_full_access"), std::string::npos);
  EXPECT_TRUE(seen_.empty());
  EXPECT_EQ(world_.approvals().last_ordinal(), 0u);
}

TEST_F(GrantedCellTest, ACallThatDoesNotRunLeavesNoGrant) {
  const std::string session = Create();
  const std::string turn = world_.Submit(session, kWrites);
  const auto asked = world_.Await(session, Event::kPermissionRequested).permission_requested();
  world_.sandbox().FailPrepare(Unavailable("the supervisor has gone"));
  EXPECT_TRUE(world_.approvals().Resolve(asked.request_id(), ForTheCall()));
  EXPECT_EQ(End(session, turn).status, TurnStatus::kInterrupted);
  world_.sandbox().FailPrepare(OkStatus());
  Run(session);
  EXPECT_EQ(seen_, std::vector<bool>{false});
}

TEST_F(GrantedCellTest, ACancelledTurnLeavesNoGrant) {
  const std::string session = Create();
  world_.sandbox().on_exec = [](const sup::ExecStart&, const sandbox::ExecSink& sink,
                                std::stop_token stop) -> Result<sup::ExecOutcome> {
    ODY_RETURN_IF_ERROR(fakes::Begin(sink));
    while (!stop.stop_requested()) std::this_thread::yield();
    return Cancelled("stopped");
  };
  const std::string turn = world_.Submit(session, kWrites);
  const auto asked = world_.Await(session, Event::kPermissionRequested).permission_requested();
  EXPECT_TRUE(world_.approvals().Resolve(asked.request_id(), ForTheCall()));
  world_.Await(session, Event::kExecCommandBegin);
  EXPECT_TRUE(*world_.sessions().Cancel(session, turn));
  EXPECT_EQ(removed_, 1);
  world_.sandbox().on_exec = [this](const sup::ExecStart&, const sandbox::ExecSink& sink,
                                    std::stop_token) -> Result<sup::ExecOutcome> {
    ODY_RETURN_IF_ERROR(fakes::Begin(sink));
    seen_.push_back(Shows(world_.sandbox().prepared().back(), kData));
    return fakes::Exited();
  };
  Run(session);
  EXPECT_EQ(seen_, std::vector<bool>{false});
}

}  // namespace
}  // namespace odyssey::session
