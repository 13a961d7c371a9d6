#ifndef ODYSSEY_SUPERVISOR_RPC_EXEC_SESSION_FIXTURE_H_
#define ODYSSEY_SUPERVISOR_RPC_EXEC_SESSION_FIXTURE_H_

// A session between a sink that the test is and a slot that the test is.

#include <fcntl.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/os/file.h"
#include "common/os/message_socket.h"
#include "policy/plan/cell_wire.h"
#include "supervisor/rpc/exec_session.h"

namespace odyssey::supervisor {

class TestSink final : public ExecSink {
 public:
  std::string* BeginOutput() override {
    buffer.clear();
    if (before_read) before_read();
    return busy ? nullptr : &buffer;
  }
  void SendOutput(Stream stream) override {
    (stream == Stream::kStdout ? out : err) += buffer;
    busy = stalls;
  }
  void SendDenial(const explain::Denial& denial) override {
    EXPECT_FALSE(outcome.has_value()) << "a denial after the outcome";
    denials.push_back(denial.resource);
    busy = stalls;
  }
  void SendOutcome(const Outcome& end) override {
    EXPECT_FALSE(outcome.has_value()) << "a second outcome";
    outcome = end;
  }
  void StdinTaken() override { ++taken; }

  std::function<void()> before_read;
  std::string buffer, out, err;
  std::vector<std::string> denials;  // what they are about
  std::optional<Outcome> outcome;
  bool busy = false;
  bool stalls = false;  // each piece stays in flight until the test clears `busy`
  int taken = 0;
};

class ExecSessionTest : public ::testing::Test {
 protected:
  using Source = ExecSession::Source;

  ExecOptions Options() {
    ExecOptions options;
    options.spec.argv = {"command"};
    options.spec.cwd = "/workspace";
    return options;
  }

  void Start(ExecOptions options) { StartWith(std::move(options), nullptr); }
  // Starts the session, once `prepare` has seen it, and takes the slot's side of it.
  void StartWith(ExecOptions options, const std::function<void(ExecSession*)>& prepare) {
    const bool terminal = options.spec.terminal;
    session_ = std::make_unique<ExecSession>(std::move(options), &sink_);
    if (prepare) prepare(session_.get());
    auto exec = MessageSocketPair();
    auto control = MessageSocketPair();
    exec_ = std::move(exec->second);
    control_ = std::move(control->second);
    session_->Start(
        std::move(exec->first), std::move(control->first),
        [this](int, Source source, bool) { watched_[static_cast<size_t>(source)]++; },
        [this] { ++usage_asked_; }, [this](Clock::time_point when) { woken_at_ = when; });
    auto message = ReceiveMessage(exec_.get());
    ASSERT_TRUE(message.ok());
    if (terminal) return;
    ASSERT_EQ(message->fds.size(), 3u);
    in_ = std::move(message->fds[0]);
    out_ = std::move(message->fds[1]);
    err_ = std::move(message->fds[2]);
  }

  void Write(const UniqueFd& fd, const std::string& text) {
    ASSERT_TRUE(WriteAll(fd.get(), text).ok());
  }

  void Exit(int wait_status) {
    ASSERT_TRUE(
        SendMessage(control_.get(), cell::Encode(cell::ExecExited{.wait_status = wait_status}))
            .ok());
  }

  // The command has exited and everything that held its output is gone.
  void End(int wait_status) {
    Exit(wait_status);
    out_.reset();
    err_.reset();
    for (const Source source : {Source::kControl, Source::kStdout, Source::kStderr}) {
      session_->OnReady(source);
    }
    AnswerUsage();
  }

  void AnswerUsage() {
    if (usage_asked_ > 0 && answers_usage_) session_->SetUsage(0, 0);
  }

  bool SlotWasKilled() {
    fcntl(control_.get(), F_SETFL, O_NONBLOCK);
    const auto message = ReceiveMessage(control_.get());
    const auto type = message.ok() ? cell::TypeOf(message->bytes) : message.status();
    return type.ok() && *type == cell::MessageType::kKillSlot;
  }

  TestSink sink_;
  std::unique_ptr<ExecSession> session_;
  UniqueFd exec_, control_, in_, out_, err_;
  int watched_[5] = {};
  int usage_asked_ = 0;
  Clock::time_point woken_at_ = Clock::time_point::max();
  bool answers_usage_ = true;  // with nothing counted
};

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_EXEC_SESSION_FIXTURE_H_
