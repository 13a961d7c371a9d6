#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/fakes/bundle_source.h"
#include "tests/fakes/fed_command.h"
#include "tests/fakes/session_world.h"

namespace odyssey::session {
namespace {

using fakes::BundleSource;
using fakes::Say;
using fakes::SessionWorld;
using Json = nlohmann::json;

// Each turn's prompt is one call: "TOOL ARGUMENTS". Its answer is the call's result.
Status Obey(const model::ModelRequest& request, const model::ModelSink& sink, std::stop_token) {
  const model::Message& last = request.messages.back();
  if (last.kind == model::MessageKind::kToolResult) return Say(sink, last.tools[0].json);
  const std::string prompt = fakes::PromptOf(request);
  const size_t space = prompt.find(' ');
  return sink(model::ToolUse{"c", prompt.substr(0, space), prompt.substr(space + 1)});
}

class SessionJobsTest : public ::testing::Test {
 protected:
  SessionJobsTest() { world_.sandbox().on_exec = fakes::FedCommand; }

  Json Turn(const std::string& call) {
    const TurnRecord turn = world_.RunTurn(session_, call);
    EXPECT_EQ(turn.status, TurnStatus::kCompleted) << turn.error;
    return Json::parse(turn.response, nullptr, false);
  }
  Json StartJob() { return Turn(R"(Bash {"command":"cat","background":true})"); }
  std::vector<agent::v1::Job> Listed() { return *world_.sessions().ListJobs(session_); }

  SessionWorld world_{Obey};
  const BundleSource bundle_;
  std::string session_ = world_.Create(bundle_.path());
};

TEST_F(SessionJobsTest, AJobOutlivesItsTurnAndIsFedInALaterOne) {
  EXPECT_EQ(StartJob()["state"], "running");
  const Json fed = Turn(R"(Job {"action":"input","job_id":"job_1","text":"42","wait_ms":10000})");
  EXPECT_EQ(fed["stdout"], "42");
  ASSERT_EQ(Listed().size(), 1u);
  const agent::v1::Job stopped = *world_.sessions().StopJob(session_, "job_1");
  EXPECT_EQ(stopped.outcome(), "signalled");
  EXPECT_FALSE(stopped.ended_at().empty());
  EXPECT_EQ(world_.EventNames(session_).back(), "exec_command_end") << "after the turn's end";
  EXPECT_EQ(world_.sessions().StopJob(session_, "job_9").status().code(), Code::kNotFound);
  EXPECT_EQ(StartJob()["job_id"], "job_2");
}

TEST_F(SessionJobsTest, TheJournalHasNoValueOfTheSessionsVariables) {
  const std::string word = "correct-horse-battery";
  const auto give = [&](SessionRecord& record) {
    record.env = {{"WORD", word}};
    record.env_sources = {"WORD"};
    return OkStatus();
  };
  ASSERT_TRUE(world_.store().Update(session_, give).ok());
  world_.sandbox().on_exec = [&](const supervisor::v1::ExecStart&, const sandbox::ExecSink& sink,
                                 std::stop_token) -> Result<supervisor::v1::ExecOutcome> {
    ODY_RETURN_IF_ERROR(fakes::Begin(sink));
    ODY_RETURN_IF_ERROR(fakes::Print(sink, "w=" + word + "\n"));
    return fakes::Exited();
  };
  StartJob();
  world_.Await(session_, event::Event::kExecCommandEnd);
  for (const event::Event& event : world_.Events(session_)) {
    EXPECT_EQ(event.SerializeAsString().find(word), std::string::npos) << event.DebugString();
  }
}

TEST_F(SessionJobsTest, EndsWithItsSession) {
  StartJob();
  ASSERT_TRUE(world_.sessions().Delete(session_).ok());
  EXPECT_EQ(world_.sessions().ListJobs(session_).status().code(), Code::kNotFound);
}

TEST_F(SessionJobsTest, KeepsItsSessionFromBeingForked) {
  StartJob();
  const Status refused = world_.sessions().Fork(session_).status();
  EXPECT_EQ(refused.code(), Code::kFailedPrecondition);
  EXPECT_NE(refused.message().find("job_1 runs in the background"), std::string::npos);
  ASSERT_TRUE(world_.sessions().StopJob(session_, "job_1").ok());
  const Result<SessionPtr> fork = world_.sessions().Fork(session_);
  ASSERT_TRUE(fork.ok());
  EXPECT_EQ((*fork)->jobs_begun, 0u);
}

TEST_F(SessionJobsTest, AnIdleCellIsSoSinceItsLastJobHasEnded) {
  StartJob();
  world_.clock().Advance(std::chrono::hours(1));
  world_.sandbox().running_execs = 1;
  world_.sessions().EndIdleCells(std::chrono::seconds(60));
  EXPECT_EQ(world_.sandbox().ListCells()->size(), 1u);
  ASSERT_TRUE(world_.sessions().StopJob(session_, "job_1").ok());
  world_.sandbox().running_execs = 0;
  world_.sessions().EndIdleCells(std::chrono::seconds(60));
  EXPECT_EQ(world_.sandbox().ListCells()->size(), 1u);
  EXPECT_EQ(Listed().size(), 1u);

  world_.clock().Advance(std::chrono::hours(1));
  world_.sessions().EndIdleCells(std::chrono::seconds(60));
  EXPECT_EQ(Turn(R"(Job {"action":"list"})"), Json::parse(R"({"jobs":[]})"))
      << "forgotten with the cell";
}

TEST_F(SessionJobsTest, AStopEndsJobsAndRecordsIt) {
  StartJob();
  ASSERT_EQ((*world_.store().Get(session_))->running_jobs.size(), 1u);
  world_.Restart();
  EXPECT_TRUE((*world_.store().Get(session_))->running_jobs.empty());
  EXPECT_EQ(world_.EventNames(session_).back(), "exec_command_end");
  EXPECT_TRUE(Listed().empty());
}

// As a crash leaves it: the record says that it runs, and the journal has no end of it.
TEST_F(SessionJobsTest, AfterACrashTheJournalSaysThatAJobHasEnded) {
  ASSERT_TRUE(world_.store()
                  .Update(session_,
                          [](SessionRecord& record) {
                            record.jobs_begun = 3;
                            record.running_jobs = {{"job_3", "trn_1", "exe_1"}};
                            return OkStatus();
                          })
                  .ok());
  world_.Restart();
  const event::Event end = world_.Await(session_, event::Event::kExecCommandEnd);
  EXPECT_EQ(end.exec_command_end().exec_id(), "exe_1");
  EXPECT_EQ(end.exec_command_end().outcome(), "cancelled");
  EXPECT_TRUE((*world_.store().Get(session_))->running_jobs.empty());
  EXPECT_EQ(StartJob()["job_id"], "job_4") << "an id is not used again";
}

TEST_F(SessionJobsTest, APollIsCancelledWithItsTurnAndTheJobGoesOn) {
  StartJob();
  const uint64_t after = (*world_.sessions().JournalOf(session_))->last_sequence();
  const std::string turn =
      world_.Submit(session_, R"(Job {"action":"poll","job_id":"job_1","wait_ms":60000})");
  world_.Await(session_, event::Event::kToolCallStarted, after);
  EXPECT_TRUE(*world_.sessions().Cancel(session_, turn));
  EXPECT_TRUE(Listed().at(0).ended_at().empty());
}

TEST_F(SessionJobsTest, InputIsAskedAboutAsTheCommandWas) {
  const BundleSource asking("{ask: ['Bash(cat:*)']}");
  session_ = world_.Create(asking.path());
  const std::string first = world_.Submit(session_, R"(Bash {"command":"cat","background":true})");
  const auto answer = [&](approval::Decision decision, uint64_t after) {
    const event::Event asked = world_.Await(session_, event::Event::kPermissionRequested, after);
    const std::string id = asked.permission_requested().request_id();
    EXPECT_TRUE(world_.approvals().Resolve(id, {decision, "", 0}));
    return asked.permission_requested();
  };
  answer(approval::Decision::kAllowAlways, 0);
  EXPECT_EQ(world_.AwaitEnd(session_, first).status, TurnStatus::kCompleted);
  const uint64_t after = (*world_.sessions().JournalOf(session_))->last_sequence();
  const std::string second =
      world_.Submit(session_, R"(Job {"action":"input","job_id":"job_1","text":"x"})");
  const auto asked = answer(approval::Decision::kDeny, after);
  EXPECT_EQ(asked.rule(), "Bash(cat:*)");
  EXPECT_EQ(asked.scope(), "Job(input): Bash(cat:*): cat");
  EXPECT_NE(world_.AwaitEnd(session_, second).response.find("permission denied"),
            std::string::npos);
}

}  // namespace
}  // namespace odyssey::session
