// The services through a real gRPC server and channel in this process, over sessions on fakes.

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <fstream>

#include "agentd/service/approval_service.h"
#include "agentd/service/session_service.h"
#include "odyssey/supervisor/v1/supervisor.grpc.pb.h"
#include "tests/fakes/bundle_source.h"
#include "tests/fakes/session_world.h"

namespace odyssey::service {
namespace {

namespace pb = ::odyssey::agent::v1;
namespace sup = ::odyssey::supervisor::v1;
using grpc::StatusCode;

// Exec that repeats stdin, and exits with the length of its first argument.
class EchoSupervisor final : public sup::Supervisor::Service {
 public:
  grpc::Status Exec(
      grpc::ServerContext*,
      grpc::ServerReaderWriter<sup::ExecResponse, sup::ExecRequest>* stream) override {
    sup::ExecRequest request;
    stream->Read(&request);
    cell_id = request.start().cell_id();
    const int exit_code = static_cast<int>(request.start().argv(0).size());
    sup::ExecResponse response;
    response.mutable_started()->set_exec_id("exe_1");
    stream->Write(response);
    while (stream->Read(&request) && request.has_stdin()) {
      response.mutable_output()->set_data(request.stdin());
      response.mutable_output()->set_stream(sup::OUTPUT_STREAM_STDOUT);
      stream->Write(response);
    }
    response.mutable_outcome()->set_kind(sup::OUTCOME_KIND_EXITED);
    response.mutable_outcome()->set_exit_code(exit_code);
    stream->Write(response);
    return grpc::Status::OK;
  }
  std::string cell_id;
};

class ServiceTest : public ::testing::Test {
 protected:
  ServiceTest() {
    grpc::ServerBuilder supervisor_builder;
    supervisor_builder.RegisterService(&supervisor_);
    supervisor_server_ = supervisor_builder.BuildAndStart();
    session_service_ = std::make_unique<SessionService>(&world_.sessions(),
                                                        supervisor_server_->InProcessChannel({}));
    approval_service_ = std::make_unique<ApprovalService>(&world_.approvals(), &world_.sessions());
    grpc::ServerBuilder builder;
    builder.RegisterService(session_service_.get());
    builder.RegisterService(approval_service_.get());
    server_ = builder.BuildAndStart();
    channel_ = server_->InProcessChannel({});
    sessions_ = pb::SessionService::NewStub(channel_);
    approvals_ = pb::ApprovalService::NewStub(channel_);
  }
  ~ServiceTest() override {
    server_->Shutdown(std::chrono::system_clock::now());
    supervisor_server_->Shutdown(std::chrono::system_clock::now());
  }

  std::string Create() {
    pb::CreateSessionRequest request;
    request.set_bundle(bundle_.path());
    request.set_cwd("/");
    pb::CreateSessionResponse response;
    grpc::ClientContext context;
    const grpc::Status status = sessions_->CreateSession(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.session().id();
  }
  pb::SubmitTurnResponse Submit(const std::string& session_id) {
    pb::SubmitTurnRequest request;
    request.set_session_id(session_id);
    request.set_prompt("go");
    pb::SubmitTurnResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(sessions_->SubmitTurn(&context, request, &response).ok());
    return response;
  }
  pb::SubscribeRequest SubscribeTo(const std::string& session_id, uint64_t after, bool follow) {
    pb::SubscribeRequest out;
    out.set_session_id(session_id);
    out.set_after_sequence(after);
    out.set_follow(follow);
    return out;
  }

  fakes::SessionWorld world_{fakes::CallOnce("Write", R"({"content":"x","path":"a"})")};
  const fakes::BundleSource bundle_{"{ask: [Write]}"};
  EchoSupervisor supervisor_;
  std::unique_ptr<grpc::Server> supervisor_server_;
  std::unique_ptr<SessionService> session_service_;
  std::unique_ptr<ApprovalService> approval_service_;
  std::unique_ptr<grpc::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<pb::SessionService::Stub> sessions_;
  std::unique_ptr<pb::ApprovalService::Stub> approvals_;
};

TEST_F(ServiceTest, TurnWithAnApprovalFromSubmitToTheEnd) {
  const std::string session = Create();
  const pb::SubmitTurnResponse submitted = Submit(session);

  grpc::ClientContext watch_context;
  const auto watch = approvals_->WatchApprovals(&watch_context, {});
  pb::Approval approval;
  ASSERT_TRUE(watch->Read(&approval));
  EXPECT_EQ(approval.session_id(), session);
  EXPECT_EQ(approval.request().tool_name(), "Write");
  EXPECT_EQ(approval.request().arguments_json(), R"({"content":"x","path":"a"})");
  EXPECT_EQ(approval.request().scope(), "Write");

  pb::ResolveApprovalRequest resolve;
  resolve.set_request_id(approval.request().request_id());
  pb::ResolveApprovalResponse resolved;
  {
    grpc::ClientContext context;
    EXPECT_EQ(approvals_->ResolveApproval(&context, resolve, &resolved).error_code(),
              StatusCode::INVALID_ARGUMENT)
        << "an unspecified decision";
  }
  resolve.set_decision(pb::DECISION_ALLOW_ONCE);
  for (const bool first : {true, false}) {
    grpc::ClientContext context;
    EXPECT_TRUE(approvals_->ResolveApproval(&context, resolve, &resolved).ok());
    EXPECT_EQ(resolved.resolved(), first);
  }

  grpc::ClientContext context;
  const auto events =
      sessions_->Subscribe(&context, SubscribeTo(session, submitted.after_sequence(), true));
  std::vector<pb::Event::PayloadCase> seen;
  pb::Event event;
  while (events->Read(&event)) {
    EXPECT_EQ(event.sequence(), seen.size() + 1);
    seen.push_back(event.payload_case());
    if (event.has_turn_completed()) break;
  }
  EXPECT_EQ(seen, (std::vector<pb::Event::PayloadCase>{
                      pb::Event::kTurnStarted, pb::Event::kToolCallStarted,
                      pb::Event::kPermissionRequested, pb::Event::kApprovalResolved,
                      pb::Event::kToolCallFinished, pb::Event::kAgentMessageDelta,
                      pb::Event::kTurnCompleted}));

  pb::GetTurnRequest get;
  get.set_session_id(session);
  get.set_turn_id(submitted.turn_id());
  pb::GetTurnResponse turn;
  grpc::ClientContext get_context;
  ASSERT_TRUE(sessions_->GetTurn(&get_context, get, &turn).ok());
  EXPECT_EQ(turn.turn().status(), pb::TURN_STATUS_COMPLETED)
      << "the record is there before the event";
  ASSERT_EQ(turn.turn().chat_history_size(), 4);
  EXPECT_EQ(turn.turn().chat_history(1).kind(), "tool_use");
  EXPECT_EQ(turn.turn().chat_history(2).role(), "tool");
  context.TryCancel();
  watch_context.TryCancel();
}

TEST_F(ServiceTest, WhatTheOperatorDoesNotAllowMakesNoSession) {
  world_.sandbox().FailPrepare(PermissionDenied("the operator does not allow it"));
  pb::CreateSessionRequest request;
  request.set_bundle(bundle_.path());
  request.set_cwd("/");
  pb::CreateSessionResponse response;
  grpc::ClientContext context;
  const grpc::Status status = sessions_->CreateSession(&context, request, &response);
  EXPECT_EQ(status.error_code(), StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(status.error_message(), "the operator does not allow it");
  EXPECT_TRUE(world_.sessions().List().empty());
}

TEST_F(ServiceTest, SubscriberThatComesBackMissesNothingAndGetsNothingTwice) {
  const std::string session = Create();
  const std::shared_ptr<event::Journal> journal = *world_.sessions().JournalOf(session);
  constexpr uint64_t kEvents = 3000;
  std::thread writer([&] {
    for (uint64_t i = 0; i < kEvents; ++i) {
      EXPECT_TRUE(
          journal
              ->Append(fakes::EventOf(R"(agent_message_delta { turn_id: "trn_1" delta: "x" })"),
                       event::Durability::kBatched)
              .ok());
    }
  });
  uint64_t last = 0;
  while (last < kEvents) {
    grpc::ClientContext context;
    const auto events = sessions_->Subscribe(&context, SubscribeTo(session, last, true));
    pb::Event event;
    // Leaves in the middle of the stream, again and again.
    for (int i = 0; i < 500 && last < kEvents && events->Read(&event); ++i)
      ASSERT_EQ(event.sequence(), ++last);
    context.TryCancel();
  }
  writer.join();
}

TEST_F(ServiceTest, WithoutFollowTheStreamEnds) {
  const std::string session = Create();
  const std::shared_ptr<event::Journal> journal = *world_.sessions().JournalOf(session);
  ASSERT_TRUE(journal
                  ->Append(fakes::EventOf(R"(turn_cancelled { turn_id: "trn_1" })"),
                           event::Durability::kBatched)
                  .ok());
  grpc::ClientContext context;
  const auto events = sessions_->Subscribe(&context, SubscribeTo(session, 0, false));
  pb::Event event;
  EXPECT_TRUE(events->Read(&event));
  EXPECT_FALSE(events->Read(&event));
  EXPECT_TRUE(events->Finish().ok());
}

TEST_F(ServiceTest, DeletingASessionEndsItsSubscribers) {
  const std::string session = Create();
  grpc::ClientContext context;
  const auto events = sessions_->Subscribe(&context, SubscribeTo(session, 0, true));
  pb::DeleteSessionRequest request;
  request.set_session_id(session);
  pb::DeleteSessionResponse response;
  grpc::ClientContext delete_context;
  EXPECT_TRUE(sessions_->DeleteSession(&delete_context, request, &response).ok());
  pb::Event event;
  while (events->Read(&event)) {
  }
  // NOT_FOUND if the deletion was quicker than the subscription.
  const grpc::Status status = events->Finish();
  EXPECT_TRUE(status.ok() || status.error_code() == StatusCode::NOT_FOUND)
      << status.error_message();
}

TEST_F(ServiceTest, UnknownSessionsAreNotFound) {
  pb::SubmitTurnRequest submit;
  submit.set_session_id("ses_unknown");
  submit.set_prompt("go");
  pb::SubmitTurnResponse submitted;
  grpc::ClientContext submit_context;
  EXPECT_EQ(sessions_->SubmitTurn(&submit_context, submit, &submitted).error_code(),
            StatusCode::NOT_FOUND);
  grpc::ClientContext context;
  EXPECT_EQ(
      sessions_->Subscribe(&context, SubscribeTo("ses_unknown", 0, true))->Finish().error_code(),
      StatusCode::NOT_FOUND);
}

TEST_F(ServiceTest, OperatorsCommandGoesToTheSessionsCell) {
  const std::string session = Create();
  grpc::ClientContext context;
  const auto stream = sessions_->SessionExec(&context);
  sup::ExecRequest request;
  request.mutable_start()->set_cell_id(session);
  request.mutable_start()->add_argv("four");
  ASSERT_TRUE(stream->Write(request));
  sup::ExecResponse response;
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.started().exec_id(), "exe_1");
  for (const char* text : {"a", "b"}) {
    request.set_stdin(text);
    ASSERT_TRUE(stream->Write(request));
    ASSERT_TRUE(stream->Read(&response));
    EXPECT_EQ(response.output().data(), text);
  }
  stream->WritesDone();
  ASSERT_TRUE(stream->Read(&response));
  EXPECT_EQ(response.outcome().exit_code(), 4);
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(supervisor_.cell_id, "cel_" + session);
  EXPECT_EQ(world_.EventNames(session),
            (std::vector<std::string>{"exec_command_begin", "exec_command_output_delta",
                                      "exec_command_output_delta", "exec_command_end"}));
}

// The operator has all of it; the journal has as much as of a tool's command, in whole characters.
TEST_F(ServiceTest, OperatorsOutputIsJournaledUpToItsCap) {
  const std::string session = Create();
  grpc::ClientContext context;
  const auto stream = sessions_->SessionExec(&context);
  sup::ExecRequest request;
  request.mutable_start()->set_cell_id(session);
  request.mutable_start()->add_argv("x");
  ASSERT_TRUE(stream->Write(request));
  sup::ExecResponse response;
  ASSERT_TRUE(stream->Read(&response));
  const std::string almost(64 * 1024 - 1, 'y');  // begins no key's shape
  for (const std::string& text : {almost, std::string("ä"), std::string("more")}) {
    request.set_stdin(text);
    ASSERT_TRUE(stream->Write(request));
    ASSERT_TRUE(stream->Read(&response));
    EXPECT_EQ(response.output().data(), text);
  }
  stream->WritesDone();
  EXPECT_TRUE(stream->Read(&response));
  EXPECT_TRUE(stream->Finish().ok());
  std::vector<std::string> deltas;
  for (const event::Event& event : world_.Events(session)) {
    if (!event.has_exec_command_output_delta()) continue;
    const auto& output = event.exec_command_output_delta();
    deltas.push_back(output.stream() + ": " + output.delta());
  }
  EXPECT_EQ(deltas, (std::vector<std::string>{"stdout: " + almost,
                                              "stdout: \n...[stdout truncated by sandbox]"}));
}

TEST_F(ServiceTest, OperatorsCommandNeedsASession) {
  for (const char* id : {"ses_unknown", ""}) {
    grpc::ClientContext context;
    const auto stream = sessions_->SessionExec(&context);
    sup::ExecRequest request;
    request.mutable_start()->set_cell_id(id);
    stream->Write(request);
    EXPECT_EQ(stream->Finish().error_code(), StatusCode::NOT_FOUND);
  }
  grpc::ClientContext context;
  const auto stream = sessions_->SessionExec(&context);
  stream->WritesDone();
  EXPECT_EQ(stream->Finish().error_code(), StatusCode::INVALID_ARGUMENT);
}

TEST_F(ServiceTest, OperatorWhoGivesUpFreesTheSession) {
  const std::string session = Create();
  {
    grpc::ClientContext context;
    const auto stream = sessions_->SessionExec(&context);
    sup::ExecRequest request;
    request.mutable_start()->set_cell_id(session);
    request.mutable_start()->add_argv("x");
    ASSERT_TRUE(stream->Write(request));
    sup::ExecResponse response;
    ASSERT_TRUE(stream->Read(&response));
    context.TryCancel();
    EXPECT_EQ(stream->Finish().error_code(), StatusCode::CANCELLED);
  }
  const pb::SubmitTurnResponse submitted = Submit(session);
  EXPECT_EQ(world_.Await(session, pb::Event::kPermissionRequested).session_id(), session);
}

// Whoever is at the other end of a channel within the process is nobody known.
TEST_F(ServiceTest, WhatActsAsItsOwnerOnTheHostIsNobodyElses) {
  const std::string id = Create();
  Submit(id);
  world_.Await(id, pb::Event::kPermissionRequested);
  const auto make = [](session::SessionRecord& record) {
    record.owner_uid = 1000;
    record.allow_danger = true;
    return OkStatus();
  };
  ASSERT_TRUE(world_.store().Update(id, make).ok());
  const auto refused = [&](const auto& call) {
    grpc::ClientContext context;
    const grpc::Status status = call(&context);
    EXPECT_EQ(status.error_code(), StatusCode::PERMISSION_DENIED) << status.error_message();
    EXPECT_NE(status.error_message().find("its owner alone, uid 1000"), std::string::npos);
  };
  refused([&](grpc::ClientContext* context) {
    pb::SubmitTurnRequest request;
    request.set_session_id(id);
    request.set_prompt("go");
    pb::SubmitTurnResponse response;
    return sessions_->SubmitTurn(context, request, &response);
  });
  refused([&](grpc::ClientContext* context) {
    pb::CancelTurnRequest request;
    request.set_session_id(id);
    pb::CancelTurnResponse response;
    return sessions_->CancelTurn(context, request, &response);
  });
  refused([&](grpc::ClientContext* context) {
    pb::DeleteSessionRequest request;
    request.set_session_id(id);
    pb::DeleteSessionResponse response;
    return sessions_->DeleteSession(context, request, &response);
  });
  refused([&](grpc::ClientContext* context) {
    pb::ReadFileRequest request;
    request.set_session_id(id);
    request.set_path("README.md");
    pb::ReadFileResponse response;
    return sessions_->ReadFile(context, request, &response);
  });
  refused([&](grpc::ClientContext* context) {
    const auto stream = sessions_->SessionExec(context);
    sup::ExecRequest request;
    request.mutable_start()->set_cell_id(id);
    request.mutable_start()->add_argv("x");
    stream->Write(request);
    return stream->Finish();
  });
  refused([&](grpc::ClientContext* context) {
    pb::ResolveApprovalRequest request;
    request.set_request_id(world_.approvals().After(0, id).at(0).question.request().request_id());
    request.set_decision(pb::DECISION_ALLOW_ONCE);
    pb::ResolveApprovalResponse response;
    return approvals_->ResolveApproval(context, request, &response);
  });
  EXPECT_EQ(world_.approvals().size(), 1u) << "still open";
  EXPECT_EQ(supervisor_.cell_id, "");
}

TEST_F(ServiceTest, InfoCountsWhatThereIs) {
  const std::string session = Create();
  Submit(session);
  world_.Await(session, pb::Event::kPermissionRequested);
  pb::GetInfoResponse info;
  grpc::ClientContext context;
  ASSERT_TRUE(sessions_->GetInfo(&context, {}, &info).ok());
  EXPECT_EQ(info.sessions(), 1u);
  EXPECT_EQ(info.running_turns(), 1u);
  EXPECT_EQ(info.pending_approvals(), 1u);
  EXPECT_TRUE(info.supervisor_reachable());
  EXPECT_TRUE(info.quarantined().empty());
  const std::string aside = world_.state() + "/sessions/ses_1.json.corrupt_1";
  std::ofstream(aside) << "{";
  grpc::ClientContext again;
  ASSERT_TRUE(sessions_->GetInfo(&again, {}, &info).ok());
  ASSERT_EQ(info.quarantined_size(), 1);
  EXPECT_EQ(info.quarantined(0), aside);
}

TEST_F(ServiceTest, ReadsAFileAndListsWithoutTurns) {
  const std::string session = Create();
  pb::ReadFileRequest read;
  read.set_session_id(session);
  read.set_path("README.md");
  pb::ReadFileResponse file;
  grpc::ClientContext context;
  ASSERT_TRUE(sessions_->ReadFile(&context, read, &file).ok());
  EXPECT_EQ(file.file().content(), "# demo\n");
  Submit(session);
  pb::ListSessionsResponse list;
  grpc::ClientContext list_context;
  ASSERT_TRUE(sessions_->ListSessions(&list_context, {}, &list).ok());
  ASSERT_EQ(list.sessions_size(), 1);
  EXPECT_EQ(list.sessions(0).bundle_ref(), "local/demo@0.1.0");
  EXPECT_EQ(list.sessions(0).turns_size(), 0);
}

}  // namespace
}  // namespace odyssey::service
