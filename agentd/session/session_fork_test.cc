// Forked sessions, and sessions whose writes are reviewed.

#include <gtest/gtest.h>

#include "agentd/session/sessions.h"
#include "tests/fakes/bundle_source.h"
#include "tests/fakes/session_world.h"

namespace odyssey::session {
namespace {

using approval::Decision;
using fakes::BundleSource;
using fakes::CallOnce;
using fakes::SessionWorld;
using Names = std::vector<std::string>;

constexpr char kWriteA[] = R"({"content":"x","path":"a"})";

// The files of a private workspace, and a turn in it.
std::string SessionWithATurn(SessionWorld& world, const BundleSource& bundle) {
  const std::string session = world.Create(bundle.path());
  EXPECT_EQ(world.AwaitEnd(session, world.Submit(session)).status, TurnStatus::kCompleted);
  return session;
}

TEST(ForkTest, TheCopyHasTurnsAndFilesAndAJournalOfItsOwn) {
  SessionWorld world(CallOnce("Write", kWriteA));
  const BundleSource bundle;
  const std::string first = SessionWithATurn(world, bundle);
  const uint64_t last = (*world.sessions().JournalOf(first))->last_sequence();
  const Result<SessionPtr> forked = world.sessions().Fork(first);
  ASSERT_TRUE(forked.ok()) << forked.status().ToString();
  const SessionPtr copy = *forked;
  EXPECT_NE(copy->id, first);
  EXPECT_EQ(copy->forked_from, first);
  EXPECT_TRUE(copy->staged);
  EXPECT_EQ(copy->turns, (*world.sessions().Get(first))->turns);
  EXPECT_EQ(world.sandbox().files(copy->id), world.sandbox().files(first));
  EXPECT_EQ(world.sandbox().forked(),
            (std::vector<std::pair<sandbox::CellKey, sandbox::CellKey>>{
                {{first, "demo", "tooling", "tools"}, {copy->id, "demo", "tooling", "tools"}}}));
  ASSERT_EQ(world.EventNames(copy->id), Names{"session_forked"});
  const auto told = world.Events(copy->id)[0].session_forked();
  EXPECT_EQ(told.from_session_id(), first);
  EXPECT_EQ(told.at_sequence(), last);
  EXPECT_EQ(told.turns(), 1u);

  // Both go on, each by itself, the copy with what was said before.
  EXPECT_EQ(world.AwaitEnd(copy->id, world.Submit(copy->id, "more")).status,
            TurnStatus::kCompleted);
  EXPECT_EQ(world.model().requests().back().messages.front().content, "go");
  EXPECT_EQ((*world.sessions().Get(first))->turns.size(), 1u);
  EXPECT_EQ((*world.sessions().JournalOf(first))->last_sequence(), last);
}

TEST(ForkTest, ARestartInterruptsNothingOfACopy) {
  SessionWorld world(CallOnce("Write", kWriteA));
  const BundleSource bundle;
  const std::string copy = (*world.sessions().Fork(SessionWithATurn(world, bundle)))->id;
  world.Restart();
  EXPECT_TRUE(world.warnings().empty());
  EXPECT_EQ((*world.sessions().Get(copy))->turns[0].status, TurnStatus::kCompleted);
  EXPECT_FALSE((*world.sessions().Get(copy))->forked_from.empty());
}

TEST(ForkTest, ASessionThatNeverRanHasNoDirectoriesToCopy) {
  SessionWorld world(CallOnce("Write", kWriteA));
  const BundleSource bundle;
  const Result<SessionPtr> copy = world.sessions().Fork(world.Create(bundle.path()));
  ASSERT_TRUE(copy.ok()) << copy.status().ToString();
  EXPECT_TRUE(world.sandbox().forked().empty());
}

TEST(ForkTest, ACopyThatFailsLeavesNoSession) {
  SessionWorld world(CallOnce("Write", kWriteA));
  const BundleSource bundle;
  const std::string session = SessionWithATurn(world, bundle);
  world.sandbox().fork_status = FailedPrecondition("commands run in the cell");
  EXPECT_EQ(world.sessions().Fork(session).status().code(), Code::kFailedPrecondition);
  EXPECT_EQ(world.sessions().List().size(), 1u);
  world.sandbox().fork_status = OkStatus();
  EXPECT_TRUE(world.sessions().Fork(session).ok());
}

TEST(ForkTest, NotWhileATurnWaits) {
  SessionWorld world(CallOnce("Write", kWriteA));
  const BundleSource bundle("{ask: [Write]}");
  const std::string session = world.Create(bundle.path());
  const std::string turn = world.Submit(session);
  const event::Event asked = world.Await(session, event::Event::kPermissionRequested);
  const Status refused = world.sessions().Fork(session).status();
  EXPECT_EQ(refused.code(), Code::kFailedPrecondition) << refused.ToString();
  EXPECT_TRUE(world.approvals().Resolve(asked.permission_requested().request_id(),
                                        {Decision::kDeny, "", 5}));
  world.AwaitEnd(session, turn);
  EXPECT_TRUE(world.sessions().Fork(session).ok()) << "who has seen the end may fork";
}

TEST(ForkTest, NothingIsAcceptedMeanwhile) {
  SessionWorld world(CallOnce("Write", kWriteA));
  const BundleSource bundle;
  const std::string session = world.Create(bundle.path());
  const Status done = world.sessions().WhileIdle(session, [&] {
    EXPECT_EQ(world.sessions().Submit(session, "go").status().code(), Code::kFailedPrecondition);
    EXPECT_EQ(world.sessions().Delete(session).code(), Code::kFailedPrecondition);
    EXPECT_EQ(world.sessions().Fork(session).status().code(), Code::kFailedPrecondition);
    return Internal("as the work says");
  });
  EXPECT_EQ(done.code(), Code::kInternal);
  EXPECT_TRUE(world.sessions().Submit(session, "go").ok());
}

TEST(ReviewSessionTest, TheClientsWordReviewsEveryHostDirectory) {
  SessionWorld world(CallOnce("Bash", R"({"command":"ls"})"));
  const BundleSource bundle;
  bundle.Write("odyssey.bundle.json5",
               "{id: 'demo', version: '0.1.0', manifest_version: 'odyssey.bundle/v1',\n"
               " readme: 'README.md', agent_spec: 'agent.yaml',\n"
               " executor: {type: 'prebuilt', id: 'react'}, tools: [{name: 'Bash'}],\n"
               " sandbox: {mode: 'workspace_write', system_tools_mode: 'standard', permissions:\n"
               "  {filesystem: {mounts: {read: ['/srv/a'], write: ['/srv/b']}}}}}\n");
  NewSession spec;
  spec.bundle = bundle.path();
  spec.cwd = "/";
  const SessionPtr direct = *world.sessions().Create(spec);
  EXPECT_FALSE(direct->reviews);
  spec.review = true;
  const SessionPtr reviewed = *world.sessions().Create(spec);
  EXPECT_TRUE(reviewed->review);
  EXPECT_TRUE(reviewed->reviews);
  for (const SessionPtr& session : {direct, reviewed}) {
    world.AwaitEnd(session->id, world.Submit(session->id));
    std::vector<policy::Access> access;
    const sandbox::CellSpec cell = world.sandbox().prepared().back();
    for (const policy::Mount& mount : cell.request.mounts) {
      if (mount.source.rfind("/srv/", 0) == 0) access.push_back(mount.access);
    }
    const policy::Access write =
        session == reviewed ? policy::Access::kReview : policy::Access::kReadWrite;
    EXPECT_EQ(access, (std::vector<policy::Access>{policy::Access::kReadOnly, write}));
  }
}

// It is the client's word that reviews all of them, not that the bundle reviews one.
TEST(ReviewSessionTest, ABundlesReviewOfOneDirectoryLeavesTheOthers) {
  SessionWorld world(CallOnce("Bash", R"({"command":"ls"})"));
  const BundleSource bundle;
  bundle.Write("odyssey.bundle.json5",
               "{id: 'demo', version: '0.1.0', manifest_version: 'odyssey.bundle/v1',\n"
               " readme: 'README.md', agent_spec: 'agent.yaml',\n"
               " executor: {type: 'prebuilt', id: 'react'}, tools: [{name: 'Bash'}],\n"
               " sandbox: {mode: 'workspace_write', system_tools_mode: 'standard', permissions:\n"
               "  {filesystem: {mounts: {review: ['/srv/a'], write: ['/srv/b']}}}}}\n");
  const std::string session = world.Create(bundle.path());
  EXPECT_TRUE((*world.sessions().Get(session))->reviews);
  world.AwaitEnd(session, world.Submit(session));
  const sandbox::CellSpec cell = world.sandbox().prepared().back();
  for (const policy::Mount& mount : cell.request.mounts) {
    const policy::Access expected =
        mount.source == "/srv/a" ? policy::Access::kReview : policy::Access::kReadWrite;
    EXPECT_EQ(mount.access, expected) << mount.source;
  }
}

TEST(ReviewSessionTest, AHostThatIsWrittenDirectlyIsNotCalledReviewed) {
  SessionWorld world(CallOnce("Bash", R"({"command":"ls"})"));
  const BundleSource danger("{}", "danger_full_access");
  NewSession spec;
  spec.bundle = danger.path();
  spec.cwd = "/";
  spec.allow_danger = true;
  spec.review = true;
  const Status refused = world.sessions().Create(spec).status();
  EXPECT_EQ(refused.code(), Code::kInvalidArgument) << refused.ToString();
  EXPECT_NE(refused.message().find("review"), std::string::npos) << refused.message();
}

}  // namespace
}  // namespace odyssey::session
