#include "ctl/session/turn_watch.h"

#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "odyssey/agent/v1/approval.grpc.pb.h"
#include "odyssey/agent/v1/session.grpc.pb.h"

namespace odyssey::ctl {
namespace {

using agent::v1::Event;

Event Numbered(uint64_t sequence) {
  Event event;
  event.set_sequence(sequence);
  event.set_session_id("ses_1");
  return event;
}

// A session whose one turn asks for one approval and ends as it is answered.
class FakeAgentd final : public agent::v1::SessionService::Service,
                         public agent::v1::ApprovalService::Service {
 public:
  grpc::Status Subscribe(grpc::ServerContext* context, const agent::v1::SubscribeRequest* request,
                         grpc::ServerWriter<Event>* writer) override {
    subscriptions.push_back(request->after_sequence());
    if (request->after_sequence() < 1) {
      Event event = Numbered(1);
      event.mutable_agent_message_delta()->set_delta("thinking");
      writer->Write(event);
      if (drop_after_first) return grpc::Status(grpc::StatusCode::UNAVAILABLE, "stopping");
    }
    Event asked = Numbered(2);
    asked.mutable_permission_requested()->set_request_id("req_1");
    asked.mutable_permission_requested()->set_tool_name("Write");
    asked.mutable_permission_requested()->set_digest("d1");
    asked.mutable_permission_requested()->set_arguments_json("{\"path\":\"report.md\"}");
    writer->Write(asked);
    const agent::v1::Decision decision = WaitForDecision(context);
    Event ended = Numbered(3);
    if (decision == agent::v1::DECISION_DENY) {
      ended.mutable_turn_failed()->set_turn_id("trn_1");
    } else {
      ended.mutable_turn_completed()->set_turn_id("trn_1");
    }
    writer->Write(ended);
    while (!context->IsCancelled()) std::this_thread::yield();
    return grpc::Status::CANCELLED;
  }

  grpc::Status CancelTurn(grpc::ServerContext*, const agent::v1::CancelTurnRequest* request,
                          agent::v1::CancelTurnResponse*) override {
    cancelled = request->turn_id();
    Decide(agent::v1::DECISION_DENY);
    return grpc::Status::OK;
  }

  grpc::Status ResolveApproval(grpc::ServerContext*,
                               const agent::v1::ResolveApprovalRequest* request,
                               agent::v1::ResolveApprovalResponse* response) override {
    note = request->note();
    digest = request->digest();
    response->set_resolved(request->request_id() == "req_1");
    Decide(request->decision());
    return grpc::Status::OK;
  }

  bool drop_after_first = false;
  std::vector<uint64_t> subscriptions;
  agent::v1::Decision decided = agent::v1::DECISION_UNSPECIFIED;
  std::string note;
  std::string digest;
  std::string cancelled;

 private:
  void Decide(agent::v1::Decision decision) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      decided = decision;
    }
    changed_.notify_all();
  }
  agent::v1::Decision WaitForDecision(grpc::ServerContext* context) {
    std::unique_lock<std::mutex> lock(mutex_);
    while (decided == agent::v1::DECISION_UNSPECIFIED && !context->IsCancelled()) {
      changed_.wait_for(lock, std::chrono::milliseconds(5));
    }
    return decided;
  }
  std::mutex mutex_;
  std::condition_variable changed_;
};

class TurnWatchTest : public testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/odyssey-turn-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory_ = name;
    locations_.agentd_socket = directory_ + "/agentd.sock";
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + locations_.agentd_socket, grpc::InsecureServerCredentials());
    builder.RegisterService(static_cast<agent::v1::SessionService::Service*>(&fake_));
    builder.RegisterService(static_cast<agent::v1::ApprovalService::Service*>(&fake_));
    server_ = builder.BuildAndStart();

    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    ASSERT_EQ(pthread_sigmask(SIG_BLOCK, &set, nullptr), 0);
    signals_.reset(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
    int fds[2] = {-1, -1};
    ASSERT_EQ(pipe2(fds, O_CLOEXEC), 0);
    keyboard_in_.reset(fds[0]);
    keyboard_.reset(fds[1]);
  }
  void TearDown() override {
    server_->Shutdown(std::chrono::system_clock::now());
    unlink(locations_.agentd_socket.c_str());
    rmdir(directory_.c_str());
  }
  TurnEnd Watch(ApproveMode approve, bool has_terminal) {
    TurnWatch watch(console_, locations_,
                    {.session_id = "ses_1",
                     .turn_id = "trn_1",
                     .approve = approve,
                     .in_fd = keyboard_in_.get(),
                     .has_terminal = has_terminal},
                    signals_.get());
    return watch.Run();
  }
  void Type(const std::string& text) {
    ASSERT_EQ(write(keyboard_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }

  Console console_;
  Locations locations_;
  FakeAgentd fake_;
  std::string directory_;
  std::unique_ptr<grpc::Server> server_;
  UniqueFd signals_;
  UniqueFd keyboard_in_;
  UniqueFd keyboard_;
};

TEST_F(TurnWatchTest, WithoutATerminalAskingIsDeniedAtOnce) {
  EXPECT_EQ(Watch(ApproveMode::kAsk, /*has_terminal=*/false), TurnEnd::kFailed);
  EXPECT_EQ(fake_.decided, agent::v1::DECISION_DENY);
  EXPECT_EQ(fake_.note, "the client has no terminal to ask on");
}

TEST_F(TurnWatchTest, ApproveAllAllowsOnce) {
  EXPECT_EQ(Watch(ApproveMode::kAll, /*has_terminal=*/false), TurnEnd::kCompleted);
  EXPECT_EQ(fake_.decided, agent::v1::DECISION_ALLOW_ONCE);
}

TEST_F(TurnWatchTest, PersonsAnswerDecides) {
  Type("a\n");
  EXPECT_EQ(Watch(ApproveMode::kAsk, /*has_terminal=*/true), TurnEnd::kCompleted);
  EXPECT_EQ(fake_.decided, agent::v1::DECISION_ALLOW_ALWAYS);
  EXPECT_EQ(fake_.digest, "d1") << "the answer is to what was shown";
}

TEST_F(TurnWatchTest, PersonsNoteGoesWithTheDenial) {
  Type("n not this one\n");
  EXPECT_EQ(Watch(ApproveMode::kAsk, /*has_terminal=*/true), TurnEnd::kFailed);
  EXPECT_EQ(fake_.decided, agent::v1::DECISION_DENY);
  EXPECT_EQ(fake_.note, "not this one");
}

TEST_F(TurnWatchTest, PersonWhoLeavesDenies) {
  keyboard_.reset();
  EXPECT_EQ(Watch(ApproveMode::kAsk, /*has_terminal=*/true), TurnEnd::kFailed);
  EXPECT_EQ(fake_.decided, agent::v1::DECISION_DENY);
}

TEST_F(TurnWatchTest, LostConnectionGoesOnAfterTheLastEventSeen) {
  fake_.drop_after_first = true;
  EXPECT_EQ(Watch(ApproveMode::kAll, /*has_terminal=*/false), TurnEnd::kCompleted);
  EXPECT_EQ(fake_.subscriptions, (std::vector<uint64_t>{0, 1}));
}

TEST_F(TurnWatchTest, InterruptCancelsTheTurn) {
  raise(SIGUSR1);
  EXPECT_EQ(Watch(ApproveMode::kAsk, /*has_terminal=*/true), TurnEnd::kFailed);
  EXPECT_EQ(fake_.cancelled, "trn_1");
}

}  // namespace
}  // namespace odyssey::ctl
