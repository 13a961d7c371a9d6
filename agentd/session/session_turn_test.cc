#include "agentd/session/sessions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/fakes/bundle_source.h"
#include "tests/fakes/session_world.h"
#include "tests/testing/refusal.h"

namespace odyssey::session {
namespace {

using approval::Decision;
using fakes::BundleSource;
using fakes::CallOnce;
using fakes::Say;
using fakes::SessionWorld;
using Names = std::vector<std::string>;

constexpr char kWriteA[] = R"({"content":"x","path":"a"})";

TEST(SessionTurnTest, TurnRunsAToolAndCompletes) {
  SessionWorld world(CallOnce("Bash", R"({"command":"ls ."})"));
  const BundleSource bundle;
  const std::string session = world.Create(bundle.path());
  const TurnRecord turn = world.AwaitEnd(session, world.Submit(session));
  EXPECT_EQ(turn.status, TurnStatus::kCompleted) << turn.error;
  EXPECT_NE(turn.response.find("\"stdout\":\"ls .\""), std::string::npos) << turn.response;
  EXPECT_EQ(turn.history.size(), 4u);
  EXPECT_EQ(
      world.EventNames(session),
      (Names{"turn_started", "tool_call_started", "exec_command_begin", "exec_command_output_delta",
             "exec_command_end", "tool_call_finished", "agent_message_delta", "turn_completed"}));
  EXPECT_EQ(world.model().requests()[0].system, "Be brief.");
  EXPECT_EQ(world.model().requests()[0].tools.size(), 4u) << "Job comes with Bash";
}

// The bundle's mounts, beside its tools.
void WriteTo(const BundleSource& bundle, const std::string& directory) {
  bundle.Write("odyssey.bundle.json5",
               "{id: 'demo', version: '0.1.0', manifest_version: 'odyssey.bundle/v1',\n"
               " readme: 'README.md', agent_spec: 'agent.yaml',\n"
               " executor: {type: 'prebuilt', id: 'react'},\n"
               " tools: [{name: 'Bash'}, {name: 'Read'}, {name: 'Write'}],\n"
               " sandbox: {mode: 'workspace_write', system_tools_mode: 'standard',\n"
               "  permissions: {filesystem: {mounts: {write: ['" +
                   directory + "']}}}}}\n");
}

std::string CreateReviewed(SessionWorld& world, const BundleSource& bundle) {
  WriteTo(bundle, "/srv/project");
  NewSession spec;
  spec.bundle = bundle.path();
  spec.cwd = "/";
  spec.review = true;
  const Result<SessionPtr> session = world.sessions().Create(spec);
  EXPECT_TRUE(session.ok()) << session.status().ToString();
  return session.ok() ? (*session)->id : "";
}

TEST(SessionTurnTest, ChangesThatWaitAreToldAtTheEndOfTheTurn) {
  SessionWorld world(CallOnce("Bash", R"({"command":"ls"})"));
  supervisor::v1::ChangeCounts counts;
  counts.set_added(1);
  counts.set_modified(2);
  counts.set_marked(1);
  world.sandbox().changes = counts;
  const BundleSource bundle;
  const std::string session = CreateReviewed(world, bundle);
  const std::string turn = world.Submit(session);
  EXPECT_EQ(world.AwaitEnd(session, turn).status, TurnStatus::kCompleted);
  const Names names = world.EventNames(session);
  EXPECT_EQ(Names(names.end() - 2, names.end()), (Names{"workspace_changed", "turn_completed"}));
  EXPECT_EQ(world.Await(session, event::Event::kWorkspaceChanged)
                .workspace_changed()
                .counts()
                .SerializeAsString(),
            counts.SerializeAsString());
}

TEST(SessionTurnTest, ADirectSessionsChangesAreNotAskedFor) {
  SessionWorld world(CallOnce("Bash", R"({"command":"ls"})"));
  supervisor::v1::ChangeCounts counts;
  counts.set_added(1);
  world.sandbox().changes = counts;
  const BundleSource bundle;
  WriteTo(bundle, "/srv/project");
  const std::string session = world.Create(bundle.path());
  world.AwaitEnd(session, world.Submit(session));
  const Names names = world.EventNames(session);
  EXPECT_EQ(std::count(names.begin(), names.end(), "workspace_changed"), 0);
  EXPECT_FALSE((*world.sessions().Get(session))->reviews);
}

TEST(SessionTurnTest, ChangesThatCannotBeListedDoNotFailTheTurn) {
  SessionWorld world(CallOnce("Bash", R"({"command":"ls"})"));
  world.sandbox().changes = Unavailable("no review cell");
  const BundleSource bundle;
  const std::string session = CreateReviewed(world, bundle);
  EXPECT_EQ(world.AwaitEnd(session, world.Submit(session)).status, TurnStatus::kCompleted);
  EXPECT_EQ(world.EventNames(session).back(), "turn_completed");
}

TEST(SessionTurnTest, WhoIsAskedAboutAWriteSeesTheDifference) {
  SessionWorld world(CallOnce("Write", kWriteA));
  const BundleSource bundle("{ask: [Write]}");
  const std::string session = world.Create(bundle.path());
  world.Submit(session);
  const event::Event asked = world.Await(session, event::Event::kPermissionRequested);
  const std::string& diff = asked.permission_requested().diff();
  EXPECT_NE(diff.find("+++ b/a\n@@ -0,0 +1 @@\n+x\n"), std::string::npos) << diff;
  EXPECT_EQ(world.approvals().After(0, session).at(0).question.request().diff(), diff);
}

TEST(SessionTurnTest, AllowOnceAsksAgainForTheSameCall) {
  SessionWorld world(CallOnce("Write", kWriteA));
  const BundleSource bundle("{ask: [Write]}");
  const std::string session = world.Create(bundle.path());
  uint64_t after = 0;
  for (int i = 0; i < 2; ++i) {
    const std::string turn = world.Submit(session);
    const event::Event asked = world.Await(session, event::Event::kPermissionRequested, after);
    const auto& request = asked.permission_requested();
    EXPECT_EQ(request.rule(), "Write");
    EXPECT_EQ(request.arguments_json(), kWriteA);
    EXPECT_EQ(request.cwd(), "/workspace");
    EXPECT_EQ(request.risk(), "local_write");
    EXPECT_EQ(world.sandbox().files(session).count("a"), static_cast<size_t>(i))
        << "nothing is done before the answer";
    EXPECT_TRUE(world.approvals().Resolve(request.request_id(), {Decision::kAllowOnce, "", 5}));
    EXPECT_EQ(world.AwaitEnd(session, turn).status, TurnStatus::kCompleted);
    after = asked.sequence();
  }
  EXPECT_EQ(world.sandbox().files(session)["a"], "x");
}

TEST(SessionTurnTest, AllowAlwaysHoldsForThisSessionUntilARestart) {
  SessionWorld world(CallOnce("Write", kWriteA));
  const BundleSource bundle("{ask: [Write]}");
  const std::string first = world.Create(bundle.path());
  const std::string turn = world.Submit(first);
  const event::Event asked = world.Await(first, event::Event::kPermissionRequested);
  const std::string request = asked.permission_requested().request_id();
  EXPECT_TRUE(world.approvals().Resolve(request, {Decision::kAllowAlways, "", 5}));
  world.AwaitEnd(first, turn);

  EXPECT_EQ(world.AwaitEnd(first, world.Submit(first)).status, TurnStatus::kCompleted)
      << "silently";
  EXPECT_EQ(world.approvals().last_ordinal(), 1u);

  const std::string second = world.Create(bundle.path());
  world.Submit(second);
  world.Await(second, event::Event::kPermissionRequested);

  world.Restart();
  const uint64_t before = (*world.sessions().JournalOf(first))->last_sequence();
  world.Submit(first);
  world.Await(first, event::Event::kPermissionRequested, before);
}

TEST(SessionTurnTest, EachAnswerIsInTheAuditLogBeforeItsCallRuns) {
  SessionWorld world(CallOnce("Write", kWriteA));
  const BundleSource bundle("{ask: [Write]}");
  const std::string session = world.Create(bundle.path());
  uint64_t after = 0;
  for (const Decision decision : {Decision::kDeny, Decision::kAllowOnce}) {
    const std::string turn = world.Submit(session);
    const event::Event asked = world.Await(session, event::Event::kPermissionRequested, after);
    const auto& request = asked.permission_requested();
    EXPECT_TRUE(world.approvals().Resolve(request.request_id(), {decision, "a note", 5}));
    EXPECT_EQ(world.AwaitEnd(session, turn).status, TurnStatus::kCompleted);
    after = asked.sequence();
    const supervisor::v1::RecordApprovalRequest record = world.sandbox().approvals().back();
    EXPECT_EQ(record.request_id(), request.request_id());
    EXPECT_EQ(record.session_id(), session);
    EXPECT_EQ(record.turn_id(), turn);
    EXPECT_EQ(record.tool_name(), "Write");
    EXPECT_EQ(record.scope(), "Write");
    EXPECT_EQ(record.digest(), request.digest());
    EXPECT_EQ(record.decision(), approval::DecisionName(decision));
    EXPECT_EQ(record.by_uid(), 5u);
    EXPECT_EQ(record.by(), "client");
    EXPECT_EQ(record.note(), "a note");
  }
  EXPECT_EQ(world.sandbox().approvals().size(), 2u);
}

TEST(SessionTurnTest, AnAllowedCallDoesNotRunWithoutTheRecordOfIt) {
  for (const Decision decision : {Decision::kAllowOnce, Decision::kAllowAlways}) {
    SessionWorld world(CallOnce("Write", kWriteA));
    const BundleSource bundle("{ask: [Write]}");
    const std::string session = world.Create(bundle.path());
    world.sandbox().FailRecords(ResourceExhausted("audit log: write: No space left on device"));
    const std::string turn = world.Submit(session);
    const event::Event asked = world.Await(session, event::Event::kPermissionRequested);
    EXPECT_TRUE(
        world.approvals().Resolve(asked.permission_requested().request_id(), {decision, "", 5}));
    const TurnRecord ended = world.AwaitEnd(session, turn);
    EXPECT_EQ(ended.status, TurnStatus::kFailed);
    EXPECT_NE(ended.error.find("could not be recorded: audit log"), std::string::npos)
        << ended.error;
    EXPECT_EQ(world.sandbox().files(session).count("a"), 0u);
    EXPECT_FALSE(world.approvals().IsGranted(session, "Write")) << "nor does a later one";
  }
}

TEST(SessionTurnTest, ADenialHoldsWithoutTheRecordOfIt) {
  SessionWorld world(CallOnce("Write", kWriteA));
  const BundleSource bundle("{ask: [Write]}");
  const std::string session = world.Create(bundle.path());
  world.sandbox().FailRecords(Unavailable("no supervisor"));
  const std::string turn = world.Submit(session);
  const event::Event asked = world.Await(session, event::Event::kPermissionRequested);
  EXPECT_TRUE(world.approvals().Resolve(asked.permission_requested().request_id(),
                                        {Decision::kDeny, "", 5}));
  EXPECT_EQ(world.AwaitEnd(session, turn).status, TurnStatus::kCompleted);
  EXPECT_EQ(world.sandbox().files(session).count("a"), 0u);
}

TEST(SessionTurnTest, BeyondTheMostOfAMinuteNobodyIsAsked) {
  SessionWorld world(CallOnce("Write", kWriteA));
  const BundleSource bundle("{ask: [Write]}");
  const std::string session = world.Create(bundle.path());
  for (size_t n = 0; n < approval::kMaxAsksPerMinute; ++n) {
    ASSERT_TRUE(world.approvals().CountAsk(session, world.clock().Now()));
  }
  EXPECT_EQ(world.AwaitEnd(session, world.Submit(session)).status, TurnStatus::kCompleted);
  const auto resolved = world.Await(session, event::Event::kApprovalResolved).approval_resolved();
  EXPECT_EQ(resolved.decision(), "deny");
  EXPECT_EQ(resolved.by(), "limit");
  EXPECT_EQ(world.sandbox().approvals().back().by(), "limit") << "that is recorded too";
  EXPECT_EQ(world.sandbox().files(session).count("a"), 0u);
}

TEST(SessionTurnTest, AKeyInAResultReachesNeitherTheModelNorTheJournal) {
  const std::string key = "ghp_" + std::string(36, 'x');
  SessionWorld world(CallOnce("Bash", R"({"command":"cat key"})"));
  world.sandbox().on_exec = [&](const supervisor::v1::ExecStart&, const sandbox::ExecSink& sink,
                                std::stop_token) -> Result<supervisor::v1::ExecOutcome> {
    ODY_RETURN_IF_ERROR(fakes::Begin(sink));
    ODY_RETURN_IF_ERROR(fakes::Print(sink, "the key: " + key + "\n"));
    return fakes::Exited();
  };
  const BundleSource bundle;
  const std::string session = world.Create(bundle.path());
  const TurnRecord turn = world.AwaitEnd(session, world.Submit(session));
  EXPECT_NE(turn.response.find("the key: [REDACTED:github_token]"), std::string::npos)
      << turn.response;
  EXPECT_EQ(turn.response.find(key), std::string::npos);
  for (const event::Event& event : world.Events(session)) {
    EXPECT_EQ(event.SerializeAsString().find(key), std::string::npos) << event.DebugString();
  }
}

TEST(SessionTurnTest, ARequestExpiresAsItsSessionSays) {
  SessionWorld world(CallOnce("Write", kWriteA));
  const BundleSource bundle("{ask: [Write]}");
  session::NewSession spec{bundle.path(), "/", {}, ""};
  spec.approval_timeout_ms = 90'000;
  const Result<SessionPtr> created = world.sessions().Create(spec);
  ASSERT_TRUE(created.ok()) << created.status().message();
  world.Restart();
  world.Submit((*created)->id);
  const auto asked = world.Await((*created)->id, event::Event::kPermissionRequested);
  EXPECT_EQ(asked.permission_requested().expires_at(),
            agent::FormatTime(world.clock().Now() + std::chrono::seconds(90)));
  EXPECT_EQ(world.approvals().After(0, "").at(0).timeout, std::chrono::seconds(90));
}

TEST(SessionTurnTest, DenialIsAToolResultAndTheTurnGoesOn) {
  SessionWorld world(CallOnce("Write", kWriteA));
  const BundleSource bundle("{ask: [Write]}");
  const std::string session = world.Create(bundle.path());
  const std::string turn = world.Submit(session);
  const event::Event asked = world.Await(session, event::Event::kPermissionRequested);
  const std::string request = asked.permission_requested().request_id();
  EXPECT_TRUE(world.approvals().Resolve(request, {Decision::kDeny, "not now", 5}));
  EXPECT_FALSE(world.approvals().Resolve(request, {Decision::kAllowOnce, "", 5}))
      << "answered already";
  const TurnRecord ended = world.AwaitEnd(session, turn);
  EXPECT_EQ(ended.status, TurnStatus::kCompleted);
  EXPECT_EQ(ended.response, R"({"error":"permission denied: tool Write was denied: not now"})");
  EXPECT_EQ(world.sandbox().files(session).count("a"), 0u);
  const auto resolved = world.Await(session, event::Event::kApprovalResolved).approval_resolved();
  EXPECT_EQ(resolved.decision(), "deny");
  EXPECT_EQ(resolved.by_uid(), 5u);
}

TEST(SessionTurnTest, DeniedCommandNeverReachesTheSandbox) {
  SessionWorld world(CallOnce("Bash", R"({"command":"cd / && curl x"})"));
  const BundleSource bundle("{deny: ['Bash(curl:*)']}");
  const std::string session = world.Create(bundle.path());
  const TurnRecord turn = world.AwaitEnd(session, world.Submit(session));
  EXPECT_NE(turn.response.find("permission denied: tool Bash(curl:*) is denied"), std::string::npos)
      << turn.response;
  EXPECT_TRUE(world.sandbox().commands().empty());
}

TEST(SessionTurnTest, UnreadableCommandIsRefusedWithoutAsking) {
  SessionWorld world(CallOnce("Bash", R"({"command":"echo 'unterminated"})"));
  const BundleSource bundle("{ask: [Bash]}");
  const std::string session = world.Create(bundle.path());
  const TurnRecord turn = world.AwaitEnd(session, world.Submit(session));
  EXPECT_EQ(turn.response,
            R"({"error":"invalid arguments: invalid shell command: missing closing quote"})");
  EXPECT_EQ(world.approvals().last_ordinal(), 0u);
}

TEST(SessionTurnTest, ToolThatIsNotOfferedIsNamedToTheModel) {
  SessionWorld world(CallOnce("Edit", "{}"));
  const BundleSource bundle;
  const std::string session = world.Create(bundle.path());
  EXPECT_EQ(
      world.AwaitEnd(session, world.Submit(session)).response,
      R"({"error":"execution failed: there is no tool \"Edit\"; available: Bash, Job, Read, Write"})");
}

TEST(SessionTurnTest, RefusedPolicyFailsTheTurnBeforeTheModelIsCalled) {
  SessionWorld world(CallOnce("LS", "{}"));
  const BundleSource bundle;
  const std::string session = world.Create(bundle.path());
  world.sandbox().FailPrepare(PermissionDenied("mounts[0].source /proc: not allowed"));
  const TurnRecord turn = world.AwaitEnd(session, world.Submit(session));
  EXPECT_EQ(turn.status, TurnStatus::kFailed);
  EXPECT_EQ(turn.error, "mounts[0].source /proc: not allowed");
  EXPECT_TRUE(world.model().requests().empty());
}

TEST(SessionTurnTest, MemoryOutlivesARestart) {
  SessionWorld world(CallOnce("Bash", R"({"command":"ls"})"));
  const BundleSource bundle;
  const std::string session = world.Create(bundle.path());
  world.AwaitEnd(session, world.Submit(session, "first"));
  world.Restart();
  const size_t before = world.model().requests().size();
  world.AwaitEnd(session, world.Submit(session, "second"));
  const std::vector<model::Message> messages = world.model().requests()[before].messages;
  ASSERT_EQ(messages.size(), 5u);
  EXPECT_EQ(messages[0].content, "first");
  EXPECT_EQ(messages[1].kind, model::MessageKind::kToolUse);
  EXPECT_EQ(messages[2].kind, model::MessageKind::kToolResult);
  EXPECT_EQ(messages[4].content, "second");
}

TEST(SessionTurnTest, PrivateWorkspaceIsFilledOnce) {
  SessionWorld world(CallOnce("Write", R"({"path":"README.md","content":"mine"})"));
  const BundleSource bundle;
  const std::string session = world.Create(bundle.path());
  world.AwaitEnd(session, world.Submit(session));
  EXPECT_EQ(world.sandbox().files(session).count("odyssey.bundle.json5"), 1u);
  EXPECT_EQ(world.sandbox().prepared().front().request.workspace, "");
  world.Restart();
  world.AwaitEnd(session, world.Submit(session));
  EXPECT_EQ(world.sandbox().files(session)["README.md"], "mine") << "the agent's changes stay";
}

TEST(SessionTurnTest, ReadOnlyWorkspaceIsTheInstalledCopy) {
  SessionWorld world(CallOnce("Bash", R"({"command":"ls"})"));
  const BundleSource bundle("{}", "read_only");
  const std::string session = world.Create(bundle.path());
  world.AwaitEnd(session, world.Submit(session));
  const sandbox::CellSpec cell = world.sandbox().prepared().front();
  EXPECT_EQ(cell.request.workspace.rfind(world.state() + "/bundles/trees/", 0), 0u)
      << cell.request.workspace;
  EXPECT_EQ(cell.key, (sandbox::CellKey{session, "demo", "tooling", "tools"}));
  EXPECT_TRUE(world.sandbox().files(session).empty());
}

TEST(SessionTurnTest, SessionKeepsItsBundleWhenTheSourceChanges) {
  SessionWorld world(CallOnce("LS", "{}"));
  const BundleSource bundle;
  const std::string session = world.Create(bundle.path());
  bundle.Write("agent.yaml", "id: demo\nprompt: Changed.\nmodel: {provider: fake, name: m}\n");
  world.Restart();
  world.AwaitEnd(session, world.Submit(session));
  EXPECT_EQ(world.model().requests().front().system, "Be brief.");
}

// The turn's error when the supervisor refuses its cell with `message`.
std::string ErrorOfRefusal(const std::string& manifest_name, const std::string& manifest,
                           const std::string& message) {
  SessionWorld world(CallOnce("LS", "{}"));
  const BundleSource bundle;
  std::filesystem::remove(bundle.path() + "/odyssey.bundle.json5");
  bundle.Write(manifest_name, manifest);
  const std::string session = world.Create(bundle.path());
  world.sandbox().FailPrepare(testing::RefusalOf(message));
  return world.AwaitEnd(session, world.Submit(session)).error;
}

TEST(SessionTurnTest, WhatTheSupervisorRefusesIsSaidWithTheBundlesLine) {
  const std::string json5 =
      "{id: 'demo', version: '0.1.0', manifest_version: 'odyssey.bundle/v1', readme: 'README.md',\n"
      " agent_spec: 'agent.yaml', executor: {type: 'prebuilt', id: 'react'}, sandbox: {\n"
      "  permissions: {network: ['*'], filesystem: {mounts: {\n"
      "   write: ['.'],\n"
      "   read: ['/srv']}}},\n"
      "  resources: {pids: 9}}}\n";
  const auto error = [&](const std::string& message) {
    return ErrorOfRefusal("odyssey.bundle.json5", json5, message);
  };
  EXPECT_EQ(error("mounts[0].source: /srv: reading it is not granted"),
            "odyssey.bundle.json5:5: sandbox.permissions.filesystem.mounts.read[0]: /srv: reading "
            "it is not granted");
  EXPECT_EQ(error("mounts[1].source: /: writing it is not granted"),
            "odyssey.bundle.json5:4: sandbox.permissions.filesystem.mounts.write[0]: .: "
            "mounts[1].source: /: writing it is not granted");
  EXPECT_EQ(
      error("network: full: not granted"),
      "odyssey.bundle.json5:3: sandbox.permissions.network: [\"*\"]: network: full: not granted");
  EXPECT_EQ(error("limits.pids: 9: at most 8"),
            "odyssey.bundle.json5:6: sandbox.resources.pids: 9: at most 8");
  EXPECT_EQ(error("limits.memory_bytes: 536870912: at most 8"),
            "odyssey.bundle.json5:6: sandbox.resources.memory_mb: not given, so 512: "
            "limits.memory_bytes: 536870912: at most 8");
  EXPECT_EQ(error("the operator's ceiling cannot be used"),
            "the operator's ceiling cannot be used");

  EXPECT_EQ(ErrorOfRefusal("odyssey.bundle.yaml",
                           "apiVersion: odyssey.ai/bundle.v1\nkind: AgentBundle\n"
                           "metadata: {name: demo, version: 0.1.0, readme: README.md}\n"
                           "spec:\n  agents: [{id: a, spec: agent.yaml}]\n"
                           "  sandbox:\n    landlock: best_effort\n",
                           "landlock: best_effort: not granted"),
            "odyssey.bundle.yaml:7: spec.sandbox.landlock: best_effort: not granted");
}

TEST(SessionTurnTest, RefusesToolsThatThereAreNot) {
  SessionWorld world(CallOnce("LS", "{}"));
  const BundleSource bundle;
  bundle.Write(
      "odyssey.bundle.json5",
      "{id: 'demo', version: '0.1.0', manifest_version: 'odyssey.bundle/v1', readme: 'README.md',"
      " agent_spec: 'agent.yaml', executor: {type: 'prebuilt', id: 'react'}, tools: [{name: "
      "'Question'}],"
      " sandbox: {system_tools_mode: 'standard'}}");
  const Status status = world.sessions().Create({bundle.path(), "/", {}, ""}).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.message().find("odyssey.bundle.json5:1: tools[0].name: unknown tool `Question`, "
                                  "expected one of `Bash`"),
            std::string::npos)
      << status.message();
  EXPECT_TRUE(world.sessions().List().empty());
}

}  // namespace
}  // namespace odyssey::session
