#include "agentd/daemon/approval_command.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <future>
#include <mutex>

#include "agentd/daemon/answerer_fixture.h"
#include "common/os/file.h"

namespace odyssey::daemon {
namespace {

using approval::Decision;

class ApprovalCommandTest : public AnswererTest {
 protected:
  // The path of a shell script that knows its directory as $D.
  std::string Script(const std::string& body) {
    const std::string path =
        directory_.Write("command", "#!/bin/sh\nD=" + directory_.path() + "\n" + body + "\n");
    chmod(path.c_str(), 0755);
    return path;
  }
  std::unique_ptr<ApprovalAnswerer> Watch(const std::string& path,
                                          ApprovalAnswerer::Options options = {}) {
    return std::make_unique<ApprovalAnswerer>(&registry_, NewApprovalCommand(path), options,
                                              [this](const std::string&, const std::string& why) {
                                                const std::lock_guard lock(mutex_);
                                                failures_.push_back(why);
                                              });
  }
  std::future<approval::Answer> Ask(const std::string& id, const std::string& diff = "") {
    approval::Question question;
    question.set_session_id("ses_1");
    question.mutable_request()->set_request_id(id);
    question.mutable_request()->set_scope("Write");
    question.mutable_request()->set_diff(diff);
    return Add(question);
  }
  std::string Read(const std::string& name) {
    const auto text = ReadFile(directory_.path() + "/" + name, 1 << 20);
    return text.ok() ? *text : "";
  }
  template <typename Condition>
  bool Eventually(const Condition& condition) {
    const auto until = std::chrono::steady_clock::now() + kHang;
    while (!condition() && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return condition();
  }
  // Of what the script has written to "pid".
  bool IsGone() {
    const auto line =
        ReadFile("/proc/" + std::to_string(std::stoi(Read("pid"))) + "/cmdline", 4096);
    return !line.ok() || line->empty();  // that of a zombie is empty
  }

  std::mutex mutex_;
  std::vector<std::string> failures_;  // guarded by mutex_
};

TEST_F(ApprovalCommandTest, AnswersFromTheQuestion) {
  const auto command =
      Watch(Script("cat > $D/question.$$; if grep -q '\"request_id\":\"r1\"' $D/question.$$; then "
                   "echo '{\"decision\":\"allow_always\"}'; else echo "
                   "'{\"decision\":\"deny\",\"note\":\"no\"}'; "
                   "fi"));
  const approval::Answer allowed = Get(Ask("r1", std::string(200'000, 'x')));
  EXPECT_EQ(allowed, (approval::Answer{Decision::kAllowAlways, "", getuid(), "command"}));
  EXPECT_TRUE(registry_.IsGranted("ses_1", "Write"));
  EXPECT_EQ(Get(Ask("r2")), (approval::Answer{Decision::kDeny, "no", getuid(), "command"}));
  EXPECT_TRUE(failures_.empty());
}

TEST_F(ApprovalCommandTest, HasACleanEnvironmentAndNoDescriptorOfAgentds) {
  setenv("PROBE_SECRET", "hunter2", 1);
  const int open_file = fcntl(STDERR_FILENO, F_DUPFD, 100);  // not closed at exec
  const auto command = Watch(Script(
      "env > $D/env; ls /proc/$$/fd > $D/fds; ps -o pgid= -p $$ > $D/group; echo $$ > $D/pid\n"
      "echo '{\"decision\":\"allow_once\"}'"));
  EXPECT_EQ(Get(Ask("r")).decision, Decision::kAllowOnce);
  close(open_file);
  unsetenv("PROBE_SECRET");
  EXPECT_EQ(Read("env").find("PROBE_SECRET"), std::string::npos);
  EXPECT_NE(Read("env").find("PATH="), std::string::npos);
  EXPECT_EQ(Read("fds").find("\n" + std::to_string(open_file) + "\n"), std::string::npos);
  EXPECT_EQ(std::stoi(Read("group")), std::stoi(Read("pid")));
}

TEST_F(ApprovalCommandTest, WithoutAnAnswerItDenies) {
  const std::string yes = "echo '{\"decision\":\"allow_once\"}'";
  for (const auto& [script, why] : std::vector<std::pair<std::string, std::string>>{
           {yes + "; exit 3", "exit status 3"},
           {yes + "; kill -9 $$", "ended by signal 9"},
           {"true", "answer: no JSON object"},
           {yes + "; " + yes, "answer: no JSON object"},
           {yes + "; sleep 1000", "no answer in 1 s"},
           {"yes", "answer: more than 8192 bytes"}}) {
    const auto command = Watch(Script(script), {.timeout = std::chrono::seconds(1)});
    const approval::Answer answer = Get(Ask("r"));
    EXPECT_EQ(answer.decision, Decision::kDeny) << script;
    EXPECT_EQ(answer.note, "the approval command gave no answer: " + why) << script;
    EXPECT_EQ(answer.by, "command");
  }
}

TEST_F(ApprovalCommandTest, AlwaysIsNoAnswerToARequestWithGrants) {
  const auto command = Watch(Script("echo '{\"decision\":\"allow_always\"}'"));
  approval::Question question;
  question.mutable_request()->set_request_id("apr_1");
  question.mutable_request()->mutable_grants()->add_grants();
  const auto promise = std::make_shared<std::promise<approval::Answer>>();
  registry_.Add(question,
                [promise](const approval::Answer& answer) { promise->set_value(answer); });
  const approval::Answer answer = Get(promise->get_future());
  EXPECT_EQ(answer.decision, Decision::kDeny);
  EXPECT_NE(answer.note.find("a request with grants is not allowed always"), std::string::npos)
      << answer.note;
}

TEST_F(ApprovalCommandTest, WhatCannotBeStartedDenies) {
  const std::string path = Script("true");
  EXPECT_TRUE(CheckApprovalCommand(path).ok());
  std::filesystem::remove(path);
  EXPECT_FALSE(CheckApprovalCommand(path).ok());
  EXPECT_FALSE(CheckApprovalCommand("/").ok());
  const auto command = Watch(path);
  const approval::Answer answer = Get(Ask("r"));
  EXPECT_EQ(answer.decision, Decision::kDeny);
  EXPECT_NE(answer.note.find("start " + path), std::string::npos) << answer.note;
}

TEST_F(ApprovalCommandTest, WithTheFallbackTheQuestionStaysOpen) {
  const auto command = Watch(Script("exit 1"), {.fallback_ask = true});
  auto answer = Ask("r");
  ASSERT_TRUE(Eventually([&] {
    const std::lock_guard lock(mutex_);
    return failures_.size() == 1;
  }));
  EXPECT_EQ(failures_[0], "the approval command gave no answer: exit status 1");
  EXPECT_TRUE(registry_.Resolve("r", {Decision::kAllowOnce, "", 7}));
  EXPECT_EQ(Get(std::move(answer)).by_uid, 7u);
}

TEST_F(ApprovalCommandTest, IsKilledWithWhatItStarted) {
  const std::string path = Script("sleep 1000 & echo $! > $D/pid; wait");
  {
    const auto command = Watch(path);
    const auto answer = Ask("r");
    ASSERT_TRUE(Eventually([&] { return !Read("pid").empty(); }));
    registry_.Drop("r");  // the turn is cancelled
    EXPECT_TRUE(Eventually([&] { return IsGone(); }));
  }
  std::filesystem::remove(directory_.path() + "/pid");
  auto command = Watch(path);
  auto answer = Ask("r2");
  ASSERT_TRUE(Eventually([&] { return !Read("pid").empty(); }));
  command.reset();  // agentd stops
  EXPECT_TRUE(Eventually([&] { return IsGone(); }));
  EXPECT_NE(answer.wait_for(std::chrono::seconds(0)), std::future_status::ready);
}

}  // namespace
}  // namespace odyssey::daemon
