#ifndef ODYSSEY_SUPERVISOR_RPC_EXEC_FIXTURE_H_
#define ODYSSEY_SUPERVISOR_RPC_EXEC_FIXTURE_H_

// A command between a sink that the test is and a slot that the test is.

#include <fcntl.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/os/file.h"
#include "common/os/message_socket.h"
#include "supervisor/rpc/exec.h"
#include "supervisor/wire/cell_wire.h"

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
    if (buffer.empty()) ++ends;
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
  int ends = 0;  // of a connection's stdout
};

// The cell.
class TestHost final : public ExecHost {
 public:
  void Watch(Exec*, int, Source source, bool) override { watched[static_cast<size_t>(source)]++; }
  void SetTimer(Exec* exec) override { timer = exec->deadline(); }
  void AskUsage(Exec*) override { ++usage_asked; }
  bool AwaitDecisions(Exec*) override { return decisions_under_way; }
  std::shared_ptr<RunOutput> MakeCopy(Exec*, Stream stream) override { return make_copy(stream); }
  std::vector<explain::Denial> Conclude(const ExecOptions&, Outcome* outcome,
                                        std::string_view stderr_tail) override {
    return conclude ? conclude(outcome, stderr_tail) : std::vector<explain::Denial>();
  }
  void OnLeftQueue(Exec*) override { ++left_queue; }
  void OnOverdue() override { ++overdue; }

  std::function<std::shared_ptr<RunOutput>(Stream)> make_copy;
  std::function<std::vector<explain::Denial>(Outcome*, std::string_view)> conclude;
  int watched[5] = {};
  Clock::time_point timer = Clock::time_point::max();
  bool decisions_under_way = false;
  int usage_asked = 0, left_queue = 0, overdue = 0;
};

class ExecTest : public ::testing::Test {
 protected:
  using Source = Exec::Source;

  ExecOptions Options() {
    ExecOptions options;
    options.spec.argv = {"command"};
    options.spec.cwd = "/workspace";
    return options;
  }

  void Make(ExecOptions options) {
    exec_ = std::make_shared<Exec>(std::move(options), &sink_, host_);
  }
  void Start(ExecOptions options) {
    Make(std::move(options));
    GiveSlot();
  }
  void GiveSlot() {
    GiveSlot([this](UniqueFd exec, UniqueFd control) {
      exec_->Start(std::move(exec), std::move(control));
    });
  }
  // Takes the slot's side of a command that `start` starts.
  void GiveSlot(const std::function<void(UniqueFd exec, UniqueFd control)>& start) {
    const bool terminal = exec_->options().spec.terminal;
    auto exec = MessageSocketPair();
    auto control = MessageSocketPair();
    exec_socket_ = std::move(exec->second);
    control_ = std::move(control->second);
    start(std::move(exec->first), std::move(control->first));
    auto message = ReceiveMessage(exec_socket_.get());
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
      exec_->OnReady(source);
    }
    AnswerUsage();
  }

  void AnswerUsage() {
    if (host_->usage_asked > 0 && answers_usage_) exec_->SetUsage(0, 0);
  }

  bool SlotWasKilled() {
    fcntl(control_.get(), F_SETFL, O_NONBLOCK);
    const auto message = ReceiveMessage(control_.get());
    const auto type = message.ok() ? cell::TypeOf(message->bytes) : message.status();
    return type.ok() && *type == cell::MessageType::kKillSlot;
  }

  TestSink sink_;
  const std::shared_ptr<TestHost> host_ = std::make_shared<TestHost>();
  std::shared_ptr<Exec> exec_;
  UniqueFd exec_socket_, control_, in_, out_, err_;
  bool answers_usage_ = true;  // with nothing counted
};

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_EXEC_FIXTURE_H_
