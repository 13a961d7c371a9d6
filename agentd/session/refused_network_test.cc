#include "agentd/session/refused_network.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "common/base/refusal.h"
#include "policy/egress/reach.h"
#include "tests/fakes/bundle_source.h"
#include "tests/fakes/session_world.h"

namespace odyssey::session {
namespace {

namespace sup = ::odyssey::supervisor::v1;
using approval::Answer;
using approval::Decision;
using event::Event;
using fakes::BundleSource;
using fakes::SessionWorld;
using Json = nlohmann::json;
using List = std::vector<std::string>;

bool Names(const sandbox::CellSpec& spec, const std::string& place) {
  return egress::NamesDestination(spec.request.egress, *egress::ParseReachable(place));
}

// A call of Bash whose command connects to these places.
std::string Reach(const std::string& places) { return R"({"command":")" + places + "\"}"; }

class RefusedNetworkTest : public ::testing::Test {
 protected:
  RefusedNetworkTest() {
    world_.sandbox().on_exec = [this](const sup::ExecStart& start, const sandbox::ExecSink& sink,
                                      std::stop_token) -> Result<sup::ExecOutcome> {
      ODY_RETURN_IF_ERROR(fakes::Begin(sink));
      return Connect(*start.argv().rbegin());
    };
    world_.sandbox().on_remove = [this] { ++removed_; };
  }

  // Reaches what the cell's policy names; the rest is refused as odyssey-egress does.
  sup::ExecOutcome Connect(const std::string& places) {
    sup::ExecOutcome outcome = fakes::Exited();
    std::istringstream words(places);
    for (std::string place; words >> place;) {
      const bool open = Names(world_.sandbox().prepared().back(), place);
      if (open) reached_.push_back(place);
      const egress::Destination to = *egress::ParseReachable(place);
      sup::EgressDecision& decision = *outcome.add_egress();
      decision.set_verdict(open ? sup::EGRESS_VERDICT_ALLOWED : sup::EGRESS_VERDICT_DENIED);
      decision.set_code(open ? "" : "policy_denied");
      decision.set_host(to.host);
      decision.set_port(to.port);
      decision.set_program("/usr/bin/curl");
      decision.set_reason("/usr/bin/curl may not connect to " + place);
    }
    return outcome;
  }

  // A session of an agent with these rules. Its cell reaches known.example.com:443 by git alone.
  std::string Create(const std::string& rules) {
    bundle_ = std::make_unique<BundleSource>(rules);
    bundle_->Write("odyssey.bundle.json5",
                   "{id: 'demo', version: '0.1.0', manifest_version: 'odyssey.bundle/v1',\n"
                   " readme: 'README.md', agent_spec: 'agent.yaml',\n"
                   " executor: {type: 'prebuilt', id: 'react'}, tools: [{name: 'Bash'}, "
                   "{name: 'Job'}],\n"
                   " sandbox: {mode: 'workspace_write', system_tools_mode: 'standard',\n"
                   "  permissions: {network_policies: {known: {\n"
                   "   endpoints: [{host: 'known.example.com', port: 443}],\n"
                   "   binaries: [{path: '/usr/bin/git'}]}}}}}\n");
    return world_.Create(bundle_->path());
  }
  // Answers the next question.
  void AnswerNext(const std::string& session, const Answer& answer) {
    const Event told = world_.Await(session, Event::kPermissionRequested, last_);
    last_ = told.sequence();
    asked_ = told.permission_requested();
    ASSERT_TRUE(approval::CheckAnswer(asked_, answer).ok());
    ASSERT_TRUE(world_.approvals().Resolve(asked_.request_id(), answer));
  }
  TurnRecord Ask(const std::string& session, const std::string& calls, const Answer& answer) {
    const std::string turn = world_.Submit(session, calls);
    AnswerNext(session, answer);
    return world_.AwaitEnd(session, turn);
  }
  TurnRecord Run(const std::string& session, const std::string& calls) {
    return world_.AwaitEnd(session, world_.Submit(session, calls));
  }
  // What the results of the session's calls say of the network, in order.
  std::vector<Json> Told(const std::string& session) {
    std::vector<Json> out;
    for (const Event& event : world_.Events(session)) {
      if (!event.has_tool_call_finished()) continue;
      const Json result = Json::parse(event.tool_call_finished().result_json());
      out.push_back(result.value("network", Json::array()));
    }
    return out;
  }
  uint64_t questions() { return world_.approvals().last_ordinal(); }
  bool CellNames(const std::string& place) {
    return Names(world_.sandbox().prepared().back(), place);
  }

  static Answer ForTheSession() {
    Answer answer{Decision::kAllowOnce, "", 5};
    answer.grant_scope = agent::v1::GRANT_SCOPE_SESSION;
    return answer;
  }

  SessionWorld world_{fakes::CallBash};
  std::unique_ptr<BundleSource> bundle_;
  agent::v1::PermissionRequested asked_;
  uint64_t last_ = 0;
  List reached_;
  std::atomic<int> removed_ = 0;
};

const Answer kOnce{Decision::kAllowOnce, "", 5};
constexpr char kApi[] = "api.example.com:443";
constexpr char kAsks[] = "{ask: ['Network(*.example.com)']}";

TEST_F(RefusedNetworkTest, OnceIsForTheRestOfTheTurn) {
  const std::string session = Create(kAsks);
  Ask(session, Reach(kApi) + "\n" + Reach("known.example.com:443") + "\n" + Reach(kApi), kOnce);
  EXPECT_EQ(reached_, (List{"known.example.com:443", kApi}));
  EXPECT_EQ(asked_.rule(), "Network(*.example.com)");
  EXPECT_EQ(asked_.tool_name(), "Bash");
  EXPECT_EQ(asked_.scope(), "") << "nothing is allowed always";
  EXPECT_EQ(asked_.reason(), "/usr/bin/curl may not connect to api.example.com:443");
  ASSERT_EQ(asked_.grants().grants_size(), 1);
  EXPECT_EQ(asked_.grants().grants(0).key(), sup::GRANT_KEY_NETWORK_ENDPOINT);
  EXPECT_EQ(asked_.grants().grants(0).value(), kApi);
  EXPECT_EQ(asked_.digest(), approval::DigestOf(asked_));
  EXPECT_EQ(Told(session)[0], Json::parse(R"([{"destination":"api.example.com:443",
      "reachable":true,"until":"this turn ends","then":"run the command again"}])"));
  const auto resolved = world_.Await(session, Event::kApprovalResolved).approval_resolved();
  EXPECT_EQ(resolved.grant_scope(), agent::v1::GRANT_SCOPE_TURN);
  ASSERT_EQ(world_.sandbox().approvals().size(), 1u);
  EXPECT_EQ(world_.sandbox().approvals()[0].request_id(), asked_.request_id());

  std::vector<sandbox::CellSpec> prepared = world_.sandbox().prepared();
  ASSERT_EQ(prepared.size(), 3u);
  EXPECT_EQ(prepared[2].request, prepared[0].request) << "the cell is narrowed as the turn ends";
  prepared[1].request.egress = prepared[0].request.egress;
  EXPECT_EQ(prepared[1].request, prepared[0].request) << "for the supervisor the same cell";
  EXPECT_EQ(removed_, 0) << "jobs go on";
  EXPECT_TRUE(world_.sessions().GrantsOf(session).empty());
}

TEST_F(RefusedNetworkTest, ForTheSessionHoldsInLaterTurns) {
  const std::string session = Create(kAsks);
  Ask(session, Reach(kApi), ForTheSession());
  EXPECT_EQ(Told(session)[0][0]["until"], "the session ends");
  Run(session, Reach(kApi));
  EXPECT_EQ(reached_, List{kApi});
  EXPECT_EQ(questions(), 1u);
  ASSERT_EQ(world_.sessions().GrantsOf(session).size(), 1u);
  EXPECT_TRUE(world_.sessions().RevokeGrant(session, asked_.request_id(), 7).ok());
  Ask(session, Reach(kApi), {Decision::kDeny, "", 5});
  EXPECT_EQ(reached_, List{kApi});
}

TEST_F(RefusedNetworkTest, ADenialIsToldAndNotAskedForAgainInTheTurn) {
  const std::string session = Create(kAsks);
  Ask(session, Reach(kApi) + "\n" + Reach(kApi), {Decision::kDeny, "not that one", 5});
  EXPECT_EQ(questions(), 1u);
  EXPECT_EQ(Told(session)[0], Json::parse(R"([{"destination":"api.example.com:443",
      "reachable":false,"why":"denied: not that one"}])"));
  EXPECT_EQ(Told(session)[1], Json::array());
  EXPECT_TRUE(reached_.empty());
  EXPECT_EQ(world_.sandbox().prepared().size(), 1u) << "the cell is not touched";
  Ask(session, Reach(kApi), {Decision::kDeny, "", 5});
  EXPECT_EQ(questions(), 2u) << "a turn later";
  EXPECT_EQ(Told(session)[2][0]["why"], "denied");
}

TEST_F(RefusedNetworkTest, WithoutARuleNothingIsAskedOrOpened) {
  for (const char* rules : {"{}", "{allow: ['*']}", "{allow: [Bash], deny: ['Network(*)']}",
                            "{ask: ['Network(*)'], deny: ['Network(api.example.com)']}",
                            "{ask: ['Network(api.example.com:80)', 'Network(*.example.net)']}"}) {
    const std::string session = Create(rules);
    EXPECT_EQ(Run(session, Reach(kApi)).status, TurnStatus::kCompleted) << rules;
    EXPECT_EQ(Told(session)[0], Json::array()) << rules;
  }
  EXPECT_EQ(questions(), 0u);
  EXPECT_TRUE(reached_.empty());
}

TEST_F(RefusedNetworkTest, AnAllowOpensForTheTurnWithoutAQuestion) {
  const std::string session = Create("{allow: ['Network(api.example.com:443)'], ask: [Network]}");
  Run(session, Reach(kApi) + "\n" + Reach(kApi));
  EXPECT_EQ(questions(), 0u);
  EXPECT_EQ(reached_, List{kApi});
  EXPECT_EQ(Told(session)[0][0]["until"], "this turn ends");
  EXPECT_FALSE(CellNames(kApi));
}

TEST_F(RefusedNetworkTest, WhatTheCeilingRefusesIsAskedOfNobody) {
  world_.sandbox().on_check = [](const sandbox::CellSpec& spec) {
    return Names(spec, kApi) ? Refused(Code::kPermissionDenied, "network_policies", kApi,
                                       "network egress is not granted")
                             : OkStatus();
  };
  for (const char* rules : {kAsks, "{allow: ['Network(api.example.com)']}"}) {
    const std::string session = Create(rules);
    EXPECT_EQ(Run(session, Reach(kApi)).status, TurnStatus::kCompleted);
    const Json told = Told(session)[0][0];
    EXPECT_EQ(told["reachable"], false);
    EXPECT_NE(told["why"].get<std::string>().find("network egress is not granted"),
              std::string::npos)
        << told;
  }
  EXPECT_EQ(questions(), 0u);
  EXPECT_TRUE(reached_.empty());
}

// An endpoint for every program beside it would take its own programs and rules away.
TEST_F(RefusedNetworkTest, WhatThePolicyNamesForOthersStaysTheirs) {
  const std::string session = Create("{ask: ['Network(*)']}");
  world_.sandbox().on_exec = [](const sup::ExecStart&, const sandbox::ExecSink& sink,
                                std::stop_token) -> Result<sup::ExecOutcome> {
    ODY_RETURN_IF_ERROR(fakes::Begin(sink));
    sup::ExecOutcome outcome = fakes::Exited();
    sup::EgressDecision& decision = *outcome.add_egress();
    decision.set_verdict(sup::EGRESS_VERDICT_DENIED);
    decision.set_code("policy_denied");
    decision.set_host("known.example.com");
    decision.set_port(443);
    return outcome;
  };
  Run(session, Reach("known.example.com:443"));
  EXPECT_EQ(questions(), 0u);
  EXPECT_EQ(Told(session)[0], Json::array());
}

TEST_F(RefusedNetworkTest, SeveralAreAskedForInOrderUpToABound) {
  const std::string session = Create(kAsks);
  std::string places;
  for (int i = 0; i < 10; ++i) places += "h" + std::to_string(i) + ".example.com:80 ";
  const std::string turn = world_.Submit(session, Reach(places + places));
  for (size_t i = 0; i < kMaxOpenedDestinations; ++i) {
    AnswerNext(session, i == 1 ? Answer{Decision::kDeny, "", 5} : kOnce);
    EXPECT_EQ(asked_.grants().grants(0).value(), "h" + std::to_string(i) + ".example.com:80");
  }
  world_.AwaitEnd(session, turn);
  EXPECT_EQ(questions(), kMaxOpenedDestinations);
  const Json told = Told(session)[0];
  ASSERT_EQ(told.size(), kMaxOpenedDestinations);
  EXPECT_EQ(told[0]["reachable"], true);
  EXPECT_EQ(told[1]["reachable"], false);
}

TEST_F(RefusedNetworkTest, WhatRunsInTheCellIsNoHindrance) {
  const std::string session = Create(kAsks);
  world_.sandbox().running_execs = 1;
  Ask(session, Reach(kApi) + "\n" + Reach(kApi), kOnce);
  EXPECT_EQ(reached_, List{kApi});
  EXPECT_EQ(removed_, 0);
}

TEST_F(RefusedNetworkTest, AStoppedTurnHasTheResultOfTheCallThatRan) {
  const std::string session = Create(kAsks);
  const std::string turn = world_.Submit(session, Reach(kApi));
  world_.Await(session, Event::kPermissionRequested);
  EXPECT_TRUE(*world_.sessions().Cancel(session, turn));
  EXPECT_EQ(world_.AwaitEnd(session, turn).status, TurnStatus::kCancelled);
  EXPECT_EQ(world_.approvals().size(), 0u);
  const auto finished = world_.Await(session, Event::kToolCallFinished).tool_call_finished();
  EXPECT_TRUE(finished.success()) << finished.result_json();
  EXPECT_FALSE(CellNames(kApi));
}

TEST_F(RefusedNetworkTest, NothingIsOpenedWithoutTheRecordOfTheAnswer) {
  const std::string session = Create(kAsks);
  world_.sandbox().FailRecords(Internal("the disk is full"));
  const TurnRecord turn = Ask(session, Reach(kApi), ForTheSession());
  EXPECT_EQ(turn.status, TurnStatus::kFailed);
  EXPECT_EQ(turn.error,
            "the destination was allowed and not opened: the answer could not be recorded: the "
            "disk is full");
  EXPECT_EQ(world_.sandbox().prepared().size(), 1u);
  EXPECT_TRUE(world_.sessions().GrantsOf(session).empty());
}

TEST_F(RefusedNetworkTest, WhatCannotBePutInForceIsToldAndTakenBack) {
  const std::string session = Create(kAsks);
  bool prepares = false;
  world_.sandbox().on_check = [&](const sandbox::CellSpec& spec) {
    return prepares && Names(spec, kApi) ? FailedPrecondition("no longer") : OkStatus();
  };
  const std::string turn = world_.Submit(session, Reach(kApi));
  world_.Await(session, Event::kPermissionRequested);
  prepares = true;
  AnswerNext(session, ForTheSession());
  EXPECT_EQ(world_.AwaitEnd(session, turn).status, TurnStatus::kCompleted);
  EXPECT_EQ(Told(session)[0][0]["reachable"], false);
  EXPECT_TRUE(world_.sessions().GrantsOf(session).empty());
  EXPECT_FALSE(CellNames(kApi));
}

TEST_F(RefusedNetworkTest, AJobThatHasEndedAsksWhenItIsPolled) {
  const std::string session = Create(kAsks);
  Ask(session,
      R"({"command":"api.example.com:443","background":true})"
      "\n" +
          Reach(kApi),
      kOnce);
  EXPECT_EQ(reached_, List{kApi});
}

}  // namespace
}  // namespace odyssey::session
