#include "agentd/session/worker_call.h"

#include <gtest/gtest.h>

#include "tests/fakes/session_world.h"

namespace odyssey::session {
namespace {

using approval::Decision;
using event::Event;
using fakes::Say;
using fakes::SessionWorld;
using fakes::TemporaryDirectory;

// Agents `lead`, `helper` and `deep`. What each may call is the test's.
class TeamBundle final {
 public:
  explicit TeamBundle(const std::string& lead, const std::string& helper = "",
                      const std::string& deep = "") {
    directory_.Write("odyssey.bundle.yaml",
                     "apiVersion: odyssey.ai/bundle.v1\nkind: AgentBundle\n"
                     "metadata: {name: team, version: 0.1.0, readme: README.md}\n"
                     "spec:\n"
                     "  abiVersion: v1\n"
                     "  agents:\n"
                     "    - {id: lead, spec: lead.yaml, default: true}\n"
                     "    - {id: helper, spec: helper.yaml}\n"
                     "    - {id: deep, spec: deep.yaml}\n"
                     "  sandbox: {mode: workspace_write, system_tools_mode: standard}\n");
    directory_.Write("README.md", "# team\n");
    Agent("lead", lead);
    Agent("helper", helper);
    Agent("deep", deep);
  }
  const std::string& path() const { return directory_.path(); }

 private:
  void Agent(const std::string& id, const std::string& more) {
    directory_.Write(id + ".yaml",
                     "apiVersion: odyssey.ai/v1\nkind: Agent\n"
                     "metadata: {name: " +
                         id +
                         "}\n"
                         "spec:\n"
                         "  kind: prompt\n  prompt: You are " +
                         id +
                         ".\n"
                         "  model: {provider: fake, name: m}\n" +
                         more);
  }
  TemporaryDirectory directory_;
};

constexpr char kCalls[] = "  delegation: {allow: [helper]}\n  tools: {allow: ['*', worker_call]}\n";

// Each agent, by its prompt, calls `tool` once and then says the result.
fakes::FakeModelClient::Function Team(
    std::map<std::string, std::pair<std::string, std::string>> calls) {
  return
      [calls](const model::ModelRequest& request, const model::ModelSink& sink, std::stop_token) {
        const model::Message& last = request.messages.back();
        const std::string who = request.system.substr(request.system.rfind(' ') + 1);
        const auto found = calls.find(who.substr(0, who.size() - 1));
        if (last.kind == model::MessageKind::kToolResult) return Say(sink, last.tools[0].json);
        if (found == calls.end()) return Say(sink, "done: " + last.content);
        return sink(model::ToolUse{"c", found->second.first, found->second.second});
      };
}

constexpr char kAskHelper[] = R"({"worker":"helper","input":"count"})";

std::string WorkerOf(SessionWorld& world, const std::string& session) {
  return world.Await(session, Event::kWorkerStarted).worker_started().session_id();
}

TEST(WorkerCallTest, AnotherAgentDoesTheWorkAndItsAnswerIsTheResult) {
  SessionWorld world(Team({{"lead", {"worker_call", kAskHelper}}}), {.workers = 1});
  const TeamBundle bundle(kCalls);
  const std::string session = world.Create(bundle.path());
  const TurnRecord turn = world.AwaitEnd(session, world.Submit(session));
  EXPECT_EQ(turn.status, TurnStatus::kCompleted) << turn.error;
  EXPECT_NE(turn.response.find("\"output\":\"done: count\""), std::string::npos) << turn.response;
  const std::string worker = WorkerOf(world, session);
  const SessionPtr record = *world.sessions().Get(worker);
  EXPECT_EQ(record->agent_id, "helper");
  EXPECT_EQ(record->parent.session_id, session);
  EXPECT_EQ(record->parent.callers, std::vector<std::string>{"lead"});
  EXPECT_TRUE(world.sessions().Delete(session).ok());
  EXPECT_FALSE(world.sessions().Get(worker).ok()) << "deleted with its caller's session";
}

TEST(WorkerCallTest, OnlyListedAgentsAreCalledAndNeverACaller) {
  SessionWorld world(Team({{"lead", {"worker_call", R"({"worker":"deep","input":"x"})"}}}));
  const TeamBundle bundle(kCalls);
  const std::string session = world.Create(bundle.path());
  const TurnRecord turn = world.AwaitEnd(session, world.Submit(session));
  EXPECT_NE(turn.response.find("not in allow_workers list. Allowed: [helper]"), std::string::npos)
      << turn.response;

  SessionRecord caller;
  caller.agent_id = "helper";
  caller.parent.callers = {"lead"};
  dialect::AgentSpec agent;
  agent.delegation.allow = {"*"};
  dialect::Bundle whole;
  for (const char* id : {"lead", "helper", "deep"}) {
    whole.agents.emplace_back();
    whole.agents.back().id = id;
  }
  EXPECT_TRUE(CheckWorkerCall(caller, agent, whole, "deep").ok());
  for (const char* busy : {"lead", "helper"}) {
    EXPECT_EQ(CheckWorkerCall(caller, agent, whole, busy).code(), Code::kPermissionDenied);
  }
  EXPECT_EQ(CheckWorkerCall(caller, agent, whole, "other").code(), Code::kNotFound);
  caller.parent.callers = {"a", "b", "c", "d", "lead"};
  EXPECT_EQ(CheckWorkerCall(caller, agent, whole, "deep").code(), Code::kPermissionDenied);
  agent.delegation.allow = {};
  EXPECT_EQ(CheckWorkerCall(SessionRecord{}, agent, whole, "deep").code(), Code::kPermissionDenied);
}

TEST(WorkerCallTest, AnAgentWithoutWorkersIsNotOfferedTheTool) {
  SessionWorld world(Team({}));
  const TeamBundle bundle("");
  const std::string session = world.Create(bundle.path());
  (void)world.AwaitEnd(session, world.Submit(session));
  const std::vector<model::ModelRequest> requests = world.model().requests();
  for (const model::ToolSpec& tool : requests[0].tools) {
    EXPECT_NE(tool.name, "worker_call");
  }
}

TEST(WorkerCallTest, AWorkerIsBoundByItsCallersRulesToo) {
  SessionWorld world(Team(
      {{"lead", {"worker_call", kAskHelper}}, {"helper", {"Bash", R"({"command":"curl x"})"}}}));
  const TeamBundle bundle(
      "  delegation: {allow: [helper]}\n"
      "  tools: {allow: ['*', worker_call], deny: ['Bash(curl:*)']}\n");
  const std::string session = world.Create(bundle.path());
  const TurnRecord turn = world.AwaitEnd(session, world.Submit(session));
  EXPECT_NE(turn.response.find("Bash(curl:*) is denied"), std::string::npos) << turn.response;
}

TEST(WorkerCallTest, WhatAWorkerAsksIsInItsCallersJournalAndAnsweredThere) {
  SessionWorld world(
      Team({{"lead", {"worker_call", kAskHelper}}, {"helper", {"Bash", R"({"command":"ls"})"}}}),
      {.workers = 1});
  const TeamBundle bundle(kCalls, "  tools: {ask: [Bash]}\n");
  const std::string session = world.Create(bundle.path());
  const std::string turn_id = world.Submit(session);
  const Event asked = world.Await(session, Event::kPermissionRequested);
  const auto& request = asked.permission_requested();
  EXPECT_EQ(request.worker_session_id(), WorkerOf(world, session));
  EXPECT_EQ(request.turn_id(), turn_id);
  EXPECT_TRUE(world.approvals().Resolve(request.request_id(), {Decision::kAllowOnce, "", 0}));
  const TurnRecord turn = world.AwaitEnd(session, turn_id);
  EXPECT_EQ(turn.status, TurnStatus::kCompleted) << turn.error;
  EXPECT_EQ(world.Await(session, Event::kApprovalResolved).approval_resolved().turn_id(), turn_id);
}

TEST(WorkerCallTest, HandingWorkOnIsAskedAboutUnlessARuleSpeaksOfIt) {
  SessionWorld world(Team({{"lead", {"worker_call", kAskHelper}}}));
  const TeamBundle bundle("  delegation: {allow: [helper]}\n");
  const std::string session = world.Create(bundle.path());
  const std::string turn_id = world.Submit(session);
  const Event asked = world.Await(session, Event::kPermissionRequested);
  EXPECT_EQ(asked.permission_requested().scope(), "worker_call(helper)");
  EXPECT_TRUE(world.approvals().Resolve(asked.permission_requested().request_id(),
                                        {Decision::kDeny, "", 0}));
  EXPECT_NE(world.AwaitEnd(session, turn_id).response.find("was denied"), std::string::npos);
}

TEST(WorkerCallTest, CancellingTheCallerEndsTheWorkerFirst) {
  SessionWorld world(
      Team({{"lead", {"worker_call", kAskHelper}}, {"helper", {"Bash", R"({"command":"ls"})"}}}));
  const TeamBundle bundle(kCalls, "  tools: {ask: [Bash]}\n");
  const std::string session = world.Create(bundle.path());
  const std::string turn_id = world.Submit(session);
  (void)world.Await(session, Event::kPermissionRequested);
  const std::string worker = WorkerOf(world, session);
  EXPECT_TRUE(*world.sessions().Cancel(session, turn_id));
  EXPECT_EQ((*world.sessions().Get(worker))->turns[0].status, TurnStatus::kCancelled);
  EXPECT_EQ(world.sessions().GetTurn(session, turn_id)->status, TurnStatus::kCancelled);
}

TEST(WorkerCallTest, TheBudgetOfAWorkerIsWithinItsCallers) {
  EXPECT_EQ(Narrowed({{}, 5}, {3}), Budget{3});
  EXPECT_EQ(Narrowed({{}, 5}, {0}), Budget{5}) << "no bound of the caller's";
  EXPECT_EQ(Narrowed({{}, 0}, {3}), Budget{3});
  SessionWorld world(
      [](const model::ModelRequest& request, const model::ModelSink& sink, std::stop_token) {
        const bool lead = request.system == "You are lead.";
        if (lead && request.messages.back().kind == model::MessageKind::kToolResult) {
          return Say(sink, request.messages.back().tools[0].json);
        }
        if (lead) return sink(model::ToolUse{"c", "worker_call", kAskHelper});
        return sink(model::ToolUse{"c", "Bash", R"({"command":"ls"})"});
      });
  const TeamBundle bundle(
      "  delegation: {allow: [helper], budget: {tool_calls: 2}}\n"
      "  tools: {allow: ['*', worker_call]}\n");
  const std::string session = world.Create(bundle.path());
  const TurnRecord turn = world.AwaitEnd(session, world.Submit(session));
  EXPECT_NE(turn.response.find("the budget of 2 tool calls is used up"), std::string::npos)
      << turn.response;
}

TEST(WorkerCallTest, AQueuedWorkerIsInterruptedByARestartSinceItsCallerIsGone) {
  SessionWorld world(Team({}));
  const TeamBundle bundle(kCalls);
  const std::string session = world.Create(bundle.path());
  SessionRecord worker = **world.sessions().Get(session);
  worker.id = "ses_00000000000000000000000000000abc";
  worker.agent_id = "helper";
  worker.parent = {session, "trn_1", {"lead"}, {}};
  TurnRecord queued;
  queued.id = "trn_00000000000000000000000000000abc";
  queued.prompt = "count";
  worker.turns.push_back(queued);
  ASSERT_TRUE(world.store().Create(worker).ok());
  world.Restart();
  const TurnRecord ended = world.AwaitEnd(worker.id, queued.id);
  EXPECT_EQ(ended.status, TurnStatus::kInterrupted);
  EXPECT_NE(ended.error.find("the turn that called this worker"), std::string::npos) << ended.error;
  EXPECT_TRUE(world.model().requests().empty());
}

TEST(WorkerCallTest, TheDeadlineOfAWorkerIsWithinItsCallers) {
  dialect::DelegationSpec own;
  EXPECT_EQ(WorkerDeadlineMs(own, 0), 0u);
  EXPECT_EQ(WorkerDeadlineMs(own, 700), 700u);
  own.wall_clock_s = 1;
  EXPECT_EQ(WorkerDeadlineMs(own, 0), 1000u);
  EXPECT_EQ(WorkerDeadlineMs(own, 700), 700u);
  EXPECT_EQ(WorkerDeadlineMs(own, 1700), 1000u);
  const fakes::FakeClock clock;
  EXPECT_EQ(DeadlineLeftMs(0, clock), 0u);
  EXPECT_EQ(DeadlineLeftMs(agent::UnixMillis(clock.Now()) + 5, clock), 5u);
  EXPECT_EQ(DeadlineLeftMs(agent::UnixMillis(clock.Now()) - 5, clock), 1u);

  SessionWorld world(
      Team({{"lead", {"worker_call", kAskHelper}}, {"helper", {"Bash", R"({"command":"ls"})"}}}));
  const TeamBundle bundle(
      "  delegation: {allow: [helper], budget: {wall_clock_s: 1}}\n"
      "  tools: {allow: ['*', worker_call]}\n",
      "  tools: {ask: [Bash]}\n");
  const std::string session = world.Create(bundle.path());
  const TurnRecord turn = world.AwaitEnd(session, world.Submit(session));
  EXPECT_EQ(turn.status, TurnStatus::kCompleted) << turn.error;
  EXPECT_NE(turn.response.find("failed: deadline of 1000 ms exceeded"), std::string::npos)
      << turn.response;
}

TEST(WorkerCallTest, AttachmentsAreCopiedIfBothEndsAllowThem) {
  SessionWorld world(
      Team({{"lead",
             {"worker_call",
              R"({"worker":"helper","input":"read","attachments":[{"path":"a.md"}]})"}}}));
  const TeamBundle refusing(kCalls, "  attachments: {denied_suffixes: [.md]}\n");
  const std::string session = world.Create(refusing.path());
  EXPECT_NE(world.AwaitEnd(session, world.Submit(session))
                .response.find("Attachment suffix '.md' is denied"),
            std::string::npos);
}

}  // namespace
}  // namespace odyssey::session
