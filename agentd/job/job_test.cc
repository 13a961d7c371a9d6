#include "agentd/job/job.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <thread>

#include "tests/fakes/events.h"
#include "tests/fakes/fake_clock.h"
#include "tests/fakes/fake_ids.h"
#include "tests/fakes/fed_command.h"
#include "tests/fakes/temporary_directory.h"

namespace odyssey::job {
namespace {

using event::Event;
using fakes::EventOf;
using Piece = OutputRing::Piece;
constexpr std::chrono::milliseconds kLong{10'000};

class JobTest : public ::testing::Test {
 protected:
  JobTest() { sandbox_.on_exec = fakes::FedCommand; }
  ~JobTest() override {
    if (!thread_.joinable()) return;
    job_->Kill();
    thread_.join();
  }

  Job& Start() {
    journal_ = *event::Journal::Open(directory_.path() + "/j.jsonl", "ses_1", {&clock_, &ids_});
    JobCommand command;
    command.session_id = "ses_1";
    command.turn_id = "trn_1";
    command.tool_call_id = "tcl_1";
    command.command = "cat";
    command.shown_cwd = "/workspace";
    for (const char* word : {"sh", "-lc", "cat"}) command.start.add_argv(word);
    command.secrets = {{"TOKEN", "hunter2-hunter2"}};
    command.journal_bytes = journal_bytes_;
    command.journal = journal_;
    job_ = std::make_unique<Job>(std::move(command), "job_1", &clock_,
                                 Job::Hooks{[this](const BegunJob& begun) {
                                              begun_ = begun;
                                              return begun_status_;
                                            },
                                            [this] { ++ends_; }});
    thread_ = std::thread([this] { job_->Run(&sandbox_); });
    return *job_;
  }
  std::vector<Event> Events() {
    std::vector<Event> out;
    std::vector<Event> events = *journal_->ReadAfter(0, 100);
    for (Event& event : events) out.push_back(fakes::Unstamped(event));
    return out;
  }
  // What has come after the last poll.
  Polled Poll(std::chrono::milliseconds wait = kLong) { return job_->Poll({.wait = wait}, {}); }

  uint64_t journal_bytes_ = 1000;
  Status begun_status_;
  BegunJob begun_;
  int ends_ = 0;
  fakes::FakeSandbox sandbox_;
  const fakes::TemporaryDirectory directory_;
  fakes::FakeClock clock_;
  fakes::FakeIds ids_;
  std::shared_ptr<event::Journal> journal_;
  std::unique_ptr<Job> job_;
  std::thread thread_;
};

TEST_F(JobTest, IsFedPolledAndEndsWithItsInput) {
  Job& job = Start();
  ASSERT_TRUE(job.AwaitBegin({}).ok());
  EXPECT_EQ(begun_, (BegunJob{"job_1", "trn_1", "exe_1"}));
  ASSERT_TRUE(job.Input("hello\n", false).ok());
  Polled polled = Poll();
  EXPECT_EQ(polled.out, (Piece{0, "hello\n"}));
  EXPECT_TRUE(polled.job.ended_at().empty());
  EXPECT_FALSE(polled.outcome.has_value());

  ASSERT_TRUE(job.Input("bye\n", true).ok());
  job.AwaitEnd();
  polled = Poll();
  EXPECT_EQ(polled.out, (Piece{6, "bye\n"})) << "what the last poll gave is not given again";
  ASSERT_TRUE(polled.outcome.has_value());
  EXPECT_EQ(polled.job.outcome(), "exited");
  EXPECT_EQ(polled.job.output_bytes(), 10u);
  EXPECT_EQ(job.Poll({.stdout_from = 3}, {}).out, (Piece{3, "lo\nbye\n"}));
  EXPECT_EQ(job.Input("x", false).code(), Code::kFailedPrecondition);
  EXPECT_EQ(ends_, 1);
  EXPECT_EQ(Events(),
            (std::vector<Event>{
                EventOf(R"(exec_command_begin { turn_id: "trn_1" exec_id: "exe_1" command: "sh"
                                          command: "-lc" command: "cat" cwd: "/workspace"
                                          job_id: "job_1" })"),
                EventOf(R"(exec_command_output_delta { turn_id: "trn_1" exec_id: "exe_1"
                                                 stream: "stdout" delta: "hello\n" })"),
                EventOf(R"(exec_command_output_delta { turn_id: "trn_1" exec_id: "exe_1"
                                                 stream: "stdout" delta: "bye\n" })"),
                EventOf(R"(exec_command_end { turn_id: "trn_1" exec_id: "exe_1" exit_code: 0
                                        outcome: "exited" })")}));
}

TEST_F(JobTest, StopsAndKills) {
  Job& job = Start();
  ASSERT_TRUE(job.AwaitBegin({}).ok());
  job.Stop();
  EXPECT_FALSE(job.running());
  EXPECT_EQ(Poll().outcome->signal(), SIGTERM);
}

TEST_F(JobTest, APollWaitsForItsStopAndNoLonger) {
  Job& job = Start();
  ASSERT_TRUE(job.AwaitBegin({}).ok());
  std::stop_source stop;
  std::thread canceller([&] { stop.request_stop(); });
  EXPECT_EQ(job.Poll({.wait = std::chrono::hours(1)}, stop.get_token()).out.text, "");
  canceller.join();
}

TEST_F(JobTest, OutputIsWithoutSecretsAlsoWhereAPollCutsThem) {
  Job& job = Start();
  ASSERT_TRUE(job.AwaitBegin({}).ok());
  ASSERT_TRUE(job.Input("a hunter2-", false).ok());
  EXPECT_EQ(Poll().out.text, "a ");
  ASSERT_TRUE(job.Input("hunter2 b", true).ok());
  job.AwaitEnd();
  EXPECT_EQ(Poll().out.text, "[REDACTED:TOKEN] b");
  for (const Event& event : Events()) {
    EXPECT_EQ(event.DebugString().find("hunter2"), std::string::npos);
  }
}

TEST_F(JobTest, TheJournalHasTheBeginningAndSaysThatThereIsMore) {
  journal_bytes_ = 4;
  Job& job = Start();
  ASSERT_TRUE(job.AwaitBegin({}).ok());
  ASSERT_TRUE(job.Input("abc\xC3\xA9", false).ok());
  ASSERT_TRUE(job.Input("more", true).ok());
  job.AwaitEnd();
  EXPECT_EQ(Poll().out.text, "abc\xC3\xA9more");
  const std::vector<Event> events = Events();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[1].exec_command_output_delta().delta(), "abc\n...[stdout truncated by sandbox]");
}

TEST_F(JobTest, OutputThatIsNoLongerKeptIsCounted) {
  sandbox_.on_exec = [](const fakes::pb::ExecStart&, const sandbox::ExecSink& sink,
                        std::stop_token) -> Result<fakes::pb::ExecOutcome> {
    ODY_RETURN_IF_ERROR(fakes::Begin(sink));
    ODY_RETURN_IF_ERROR(fakes::Print(sink, std::string(2 * kKeptBytes, 'x') + "end"));
    return fakes::Exited();
  };
  Job& job = Start();
  job.AwaitEnd();
  Polled polled = job.Poll({.max_bytes = kKeptBytes - 1}, {});
  EXPECT_EQ(polled.out_dropped, kKeptBytes + 3);
  EXPECT_EQ(polled.out.offset, kKeptBytes + 3);
  EXPECT_TRUE(polled.more);
  polled = Poll();
  EXPECT_EQ(polled.out_dropped, 0u);
  EXPECT_EQ(polled.out.text, "d");
  EXPECT_FALSE(polled.more);
}

TEST_F(JobTest, WhoseCellEndsSaysSo) {
  sandbox_.on_exec = [](const fakes::pb::ExecStart&, const sandbox::ExecSink& sink,
                        std::stop_token) -> Result<fakes::pb::ExecOutcome> {
    ODY_RETURN_IF_ERROR(fakes::Begin(sink));
    return Unavailable("the cell ended under the command");
  };
  Start().AwaitEnd();
  const Polled polled = Poll();
  EXPECT_EQ(polled.job.outcome(), "setup_failed");
  EXPECT_EQ(polled.error, "the cell ended under the command");
  EXPECT_EQ(Events().back(),
            EventOf(R"(exec_command_end { turn_id: "trn_1" exec_id: "exe_1" exit_code: -1
                                          outcome: "setup_failed" })"));
}

TEST_F(JobTest, ThatCannotBeRecordedDoesNotRun) {
  begun_status_ = Internal("disk full");
  Job& job = Start();
  EXPECT_EQ(job.AwaitBegin({}), Internal("disk full"));
  EXPECT_TRUE(Events().empty());
}

}  // namespace
}  // namespace odyssey::job
