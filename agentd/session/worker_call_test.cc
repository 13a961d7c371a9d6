#include "agentd/session/worker_call.h"

#include <gtest/gtest.h>

#include <algorithm>

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
                      const std::string& deep = "", const std::string& sandbox = "") {
    directory_.Write("odyssey.bundle.yaml",
                     "apiVersion: odyssey.ai/bundle.v1\nkind: AgentBundle\n"
                     "metadata: {name: team, version: 0.1.0, readme: README.md}\n"
                     "spec:\n"
                     "  abiVersion: v1\n"
                     "  agents:\n"
                     "    - {id: lead, spec: lead.yaml, default: true}\n"
                     "    - {id: helper, spec: helper.yaml}\n"
                     "    - {id: deep, spec: deep.yaml}\n"
                     "  sandbox: {mode: workspace_write, system_tools_mode: standard" +
                         sandbox + "}\n");
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

TEST(WorkerCallTest, WhatApprovalsAddedToACallerIsNotAWorkers) {
  constexpr char kWrites[] = R"({"command":"x","grants":[{"mount_write":"/srv/data"}]})";
  SessionWorld world(
      [&](const model::ModelRequest& request, const model::ModelSink& sink, std::stop_token) {
        const model::Message& last = request.messages.back();
        if (last.kind == model::MessageKind::kToolResult) return Say(sink, last.tools[0].json);
        if (last.content != "delegate") return sink(model::ToolUse{"c", "Bash", kWrites});
        return sink(model::ToolUse{"c", "worker_call", kAskHelper});
      });
  const TeamBundle bundle(kCalls);
  const std::string session = world.Create(bundle.path());
  const std::string turn = world.Submit(session, "ask");
  const auto asked = world.Await(session, Event::kPermissionRequested).permission_requested();
  approval::Answer answer{Decision::kAllowOnce};
  answer.grant_scope = agent::v1::GRANT_SCOPE_SESSION;
  EXPECT_TRUE(world.approvals().Resolve(asked.request_id(), answer));
  world.AwaitEnd(session, turn);
  EXPECT_EQ(world.sandbox().prepared().back().request.mounts.size(), 1u);

  const TurnRecord delegated = world.AwaitEnd(session, world.Submit(session, "delegate"));
  EXPECT_NE(delegated.response.find("a worker gets no more than its caller has"), std::string::npos)
      << delegated.response;
  EXPECT_EQ(world.approvals().last_ordinal(), 1u) << "no person is asked about the worker's call";
  EXPECT_TRUE(world.sandbox().prepared().back().request.mounts.empty()) << "the worker's cell";
}

// Whatever the worker's own record says.
TEST(WorkerCallTest, TheCellOfAWorkerIsWithinItsCallers) {
  SessionWorld world(Team({}));
  const TeamBundle bundle(kCalls, "", "",
                          ", permissions: {filesystem: {mounts: {write: [/srv/project]}}}");
  NewSession spec{bundle.path(), "/", {}, ""};
  spec.review = true;
  const SessionPtr caller = *world.sessions().Create(spec);
  SessionRecord worker = *caller;
  worker.review = false;
  EXPECT_FALSE(
      policy::HasReviewedWrites(SetUpTurn(worker, world.sessions().runtime())->cell.request));
  worker.parent = {caller->id, "trn_1", {"lead"}};
  EXPECT_TRUE(
      policy::HasReviewedWrites(SetUpTurn(worker, world.sessions().runtime())->cell.request));
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

TEST(WorkerCallTest, AKeyInAWorkersAnswerReachesNeitherItsCallersModelNorItsJournal) {
  const std::string key = "ghp_" + std::string(36, 'x');
  SessionWorld world(
      [&](const model::ModelRequest& request, const model::ModelSink& sink, std::stop_token) {
        const model::Message& last = request.messages.back();
        if (last.kind == model::MessageKind::kToolResult) return Say(sink, last.tools[0].json);
        if (request.system != "You are lead.") return Say(sink, "the key: " + key);
        return sink(model::ToolUse{"c", "worker_call", kAskHelper});
      });
  const TeamBundle bundle(kCalls);
  const std::string session = world.Create(bundle.path());
  const TurnRecord turn = world.AwaitEnd(session, world.Submit(session));
  EXPECT_NE(turn.response.find("the key: [REDACTED:github_token]"), std::string::npos)
      << turn.response;
  for (const Event& event : world.Events(session)) {
    EXPECT_EQ(event.SerializeAsString().find(key), std::string::npos) << event.DebugString();
  }
}

TEST(WorkerCallTest, AWorkerIsGrantedNoLimitBeyondItsCallers) {
  SessionWorld world(
      Team({{"lead", {"worker_call", kAskHelper}},
            {"helper",
             {"Bash", R"({"command":"x","grants":[{"limit":"wall_clock_ms","value":90000}]})"}}}));
  const TeamBundle bundle(kCalls);
  const std::string session = world.Create(bundle.path());
  const TurnRecord turn = world.AwaitEnd(session, world.Submit(session));
  EXPECT_NE(turn.response.find("a worker gets no more than its caller has"), std::string::npos)
      << turn.response;
}

TEST(WorkerCallTest, AWorkerIsOfferedNoToolThatItsCallerIsNot) {
  SessionWorld world(Team({{"lead", {"worker_call", kAskHelper}}}));
  const TeamBundle bundle(
      "  delegation: {allow: [helper]}\n  tools: {allow: [Read, worker_call]}\n");
  const std::string session = world.Create(bundle.path());
  world.AwaitEnd(session, world.Submit(session));
  std::vector<std::string> offered;
  for (const model::ModelRequest& request : world.model().requests()) {
    if (request.system != "You are helper.") continue;
    for (const model::ToolSpec& tool : request.tools) offered.push_back(tool.name);
  }
  EXPECT_EQ(offered, std::vector<std::string>{"Read"});
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
  worker.parent = {session, "trn_1", {"lead"}};
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

TEST(WorkerCallTest, TheTimeOfAWorkerIsBoundedByItsBudget) {
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
  EXPECT_NE(turn.response.find("the budget of 1000 ms of running turns is used up"),
            std::string::npos)
      << turn.response;
}

// Of a lead, its helper, and the helper's own one: the deepest uses the most.
fakes::FakeModelClient::Function ThreeDeep(uint64_t tokens) {
  return [tokens](const model::ModelRequest& request, const model::ModelSink& sink,
                  std::stop_token) {
    const bool deep = request.system == "You are deep.";
    const bool lead = request.system == "You are lead.";
    const model::Message& last = request.messages.back();
    if (last.kind == model::MessageKind::kToolResult || deep) {
      ODY_RETURN_IF_ERROR(Say(sink, deep ? "deep done" : last.tools[0].json));
    } else {
      const std::string whom = lead ? "helper" : "deep";
      ODY_RETURN_IF_ERROR(
          sink(model::ToolUse{"c", "worker_call", R"({"worker":")" + whom + R"(","input":"x"})"}));
    }
    model::ModelEnd end;
    end.usage.set_input_tokens(deep ? tokens : 10);
    return sink(end);
  };
}

const char* const kDeepTeam[] = {
    "  delegation: {allow: [helper]}\n  tools: {allow: ['*', worker_call]}\n",
    "  delegation: {allow: [deep], budget: {tokens: 500}}\n"
    "  tools: {allow: ['*', worker_call]}\n"};

TEST(WorkerCallTest, WhatWorkersUseCountsAtEveryLevelAbove) {
  SessionWorld world(ThreeDeep(100));
  const TeamBundle bundle(kDeepTeam[0], kDeepTeam[1]);
  NewSession spec{bundle.path(), "/", {}, ""};
  spec.budget.tokens = 1000;
  const std::string session = (*world.sessions().Create(spec))->id;
  const TurnRecord turn = world.AwaitEnd(session, world.Submit(session));
  EXPECT_EQ(turn.status, TurnStatus::kCompleted) << turn.error;
  // Two calls each of the lead and of the helper, one of the deepest.
  EXPECT_EQ(turn.used.tokens, 140u);
  EXPECT_EQ(turn.used.tool_calls, 2u);
  EXPECT_EQ((*world.sessions().Get(session))->used.tokens, 140u);
  std::vector<uint64_t> bounds;
  for (const SessionPtr& record : world.sessions().List()) bounds.push_back(record->budget.tokens);
  std::sort(bounds.begin(), bounds.end());
  EXPECT_EQ(bounds, (std::vector<uint64_t>{500, 990, 1000})) << "each within what its caller has";
}

TEST(WorkerCallTest, ABudgetEndsTheWorkersAtEveryDepth) {
  SessionWorld world(ThreeDeep(5000));
  const TeamBundle bundle(kDeepTeam[0], kDeepTeam[1]);
  NewSession spec{bundle.path(), "/", {}, ""};
  spec.budget.tokens = 1000;
  const std::string session = (*world.sessions().Create(spec))->id;
  const TurnRecord turn = world.AwaitEnd(session, world.Submit(session));
  EXPECT_EQ(turn.status, TurnStatus::kFailed);
  EXPECT_EQ(turn.error, "the budget of 1000 tokens is used up: 5020 tokens used");
  for (const SessionPtr& record : world.sessions().List()) {
    EXPECT_EQ((*world.sessions().Get(record->id))->turns[0].status, TurnStatus::kFailed);
  }
}

TEST(WorkerCallTest, AWorkerIsNotStartedWithoutAnythingLeft) {
  SessionWorld world(Team({{"lead", {"worker_call", kAskHelper}}}));
  const TeamBundle bundle(kCalls);
  NewSession spec{bundle.path(), "/", {}, ""};
  spec.budget.tool_calls = 1;
  const std::string session = (*world.sessions().Create(spec))->id;
  const TurnRecord turn = world.AwaitEnd(session, world.Submit(session));
  EXPECT_NE(turn.response.find("nothing is left for a worker: the budget of 1 tool calls"),
            std::string::npos)
      << turn.response << turn.error;
  EXPECT_EQ(world.sessions().List().size(), 1u);
}

constexpr char kAttachLink[] =
    R"({"worker":"helper","input":"read","attachments":[{"path":"pub/link"}]})";

// What is handed on is read: by the name that the rules judge, which no link leads away from.
TEST(WorkerCallTest, AttachmentsAreJudgedByTheRulesForRead) {
  for (const bool is_link : {false, true}) {
    SessionWorld world(Team({{"lead", {"worker_call", kAttachLink}}}));
    const TeamBundle bundle(
        "  delegation: {allow: [helper]}\n  tools: {allow: ['*', worker_call], " +
        std::string(is_link ? "" : "deny: ['Read(pub/**)']") + "}\n");
    const std::string session = world.Create(bundle.path());
    ASSERT_TRUE(world.sandbox().WriteFile({"cel_" + session}, "pub/link", "token", 0).ok());
    if (is_link) world.sandbox().links["pub/link"] = "/workspace/secrets/a";
    const std::string response = world.AwaitEnd(session, world.Submit(session)).response;
    EXPECT_NE(
        response.find(is_link ? "attach that file by its path" : "tool Read(pub/**) is denied"),
        std::string::npos)
        << response;
    const auto names = world.EventNames(session);
    EXPECT_EQ(std::count(names.begin(), names.end(), "worker_started"), 0);
  }
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
