#include "agentd/job/jobs.h"

#include <gtest/gtest.h>

#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_ids.h"
#include "tests/fakes/fed_command.h"
#include "tests/fakes/temporary_directory.h"

namespace odyssey::job {
namespace {

class MemoryRecords final : public JobRecords {
 public:
  Result<uint64_t> Begun(const std::string& session_id) override { return begun[session_id]; }
  Status OnBegun(const std::string& session_id, const BegunJob&) override {
    ++begun[session_id];
    return OkStatus();
  }
  void OnEnded(const std::string&, const std::string& job_id) override {
    std::lock_guard lock(mutex_);
    ended_.push_back(job_id);
  }
  size_t ended() {
    std::lock_guard lock(mutex_);
    return ended_.size();
  }

  std::map<std::string, uint64_t> begun;

 private:
  std::mutex mutex_;
  std::vector<std::string> ended_;
};

class JobsTest : public ::testing::Test {
 protected:
  JobsTest() { sandbox_.on_exec = fakes::FedCommand; }

  Result<JobPtr> Start(const std::string& session_id) {
    JobCommand command;
    command.session_id = session_id;
    command.turn_id = "trn_1";
    command.start.add_argv("cat");
    command.journal = journal_;
    return jobs_.Start(std::move(command), {});
  }
  std::vector<std::string> Ids(const std::string& session_id) const {
    std::vector<std::string> out;
    for (const JobPtr& job : jobs_.List(session_id)) out.push_back(job->facts().id());
    return out;
  }

  fakes::FakeSandbox sandbox_;
  fakes::FakeClock clock_;
  fakes::FakeIds ids_;
  const fakes::TemporaryDirectory directory_;
  const std::shared_ptr<event::Journal> journal_ =
      *event::Journal::Open(directory_.path() + "/j.jsonl", "ses_1", {&clock_, &ids_});
  MemoryRecords records_;
  Jobs jobs_{&sandbox_, &clock_, &records_};
};

TEST_F(JobsTest, NumbersTheJobsOfEachSession) {
  ASSERT_TRUE(Start("ses_1").ok());
  ASSERT_TRUE(Start("ses_2").ok());
  ASSERT_TRUE(Start("ses_1").ok());
  EXPECT_EQ(Ids("ses_1"), (std::vector<std::string>{"job_1", "job_2"}));
  EXPECT_EQ(Ids("ses_2"), std::vector<std::string>{"job_1"});
  EXPECT_EQ(jobs_.Running("ses_1"), "job_1, job_2");
  EXPECT_EQ(jobs_.Find("ses_2", "job_2").status().message(),
            "job_id: job_2: the session has no such job; it has job_1");
}

TEST_F(JobsTest, BoundsThoseThatRun) {
  for (size_t i = 0; i < kMaxRunning; ++i) ASSERT_TRUE(Start("ses_1").ok());
  const Status refused = Start("ses_1").status();
  EXPECT_EQ(refused.code(), Code::kResourceExhausted);
  EXPECT_NE(refused.message().find("8 jobs run in this session (job_1, job_2"), std::string::npos)
      << refused.message();
  (*jobs_.Find("ses_1", "job_3"))->Stop();
  ASSERT_TRUE(Start("ses_1").ok()) << "an ended job does not count";

  for (size_t i = kMaxRunning; i < kMaxRunningInAll; ++i) {
    ASSERT_TRUE(Start("ses_" + std::to_string(10 + i / kMaxRunning)).ok());
  }
  EXPECT_NE(Start("ses_x").status().message().find("64 jobs run in all sessions"),
            std::string::npos);
}

TEST_F(JobsTest, ForgetsTheOldestThatHaveEnded) {
  for (size_t i = 0; i < kMaxEnded + 2; ++i) {
    const Result<JobPtr> job = Start("ses_1");
    ASSERT_TRUE(job.ok());
    (*job)->Stop();
  }
  ASSERT_TRUE(Start("ses_1").ok());
  const std::vector<std::string> ids = Ids("ses_1");
  EXPECT_EQ(ids.size(), kMaxEnded + 1);
  EXPECT_EQ(ids.front(), "job_3");
  jobs_.ForgetEnded("ses_1");
  EXPECT_EQ(Ids("ses_1"), std::vector<std::string>{"job_19"});
}

TEST_F(JobsTest, EndsASessionsJobsAndNoOthers) {
  const JobPtr ended = *Start("ses_1");
  const JobPtr other = *Start("ses_2");
  jobs_.EndSession("ses_1");
  EXPECT_FALSE(ended->running());
  EXPECT_TRUE(other->running());
  EXPECT_TRUE(Ids("ses_1").empty());
  EXPECT_EQ(records_.ended(), 1u);
}

TEST_F(JobsTest, OneThatCannotBeginIsNotListed) {
  sandbox_.on_exec = [](const fakes::pb::ExecStart&, const sandbox::ExecSink&,
                        std::stop_token) -> Result<fakes::pb::ExecOutcome> {
    return PermissionDenied("no");
  };
  EXPECT_EQ(Start("ses_1").status(), PermissionDenied("no"));
  EXPECT_TRUE(Ids("ses_1").empty());
  EXPECT_EQ(records_.ended(), 0u);
}

TEST_F(JobsTest, NothingIsStartedAfterStop) {
  const JobPtr job = *Start("ses_1");
  jobs_.Stop();
  EXPECT_FALSE(job->running());
  EXPECT_EQ(Start("ses_1").status().code(), Code::kUnavailable);
}

}  // namespace
}  // namespace odyssey::job
