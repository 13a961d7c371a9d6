// The services through a real gRPC server and channel in this process, over sessions on fakes.

#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/server_posix.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fstream>
#include <future>
#include <set>

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

// Exec that repeats stdin, and exits with the length of its first argument. A stubborn one ends
// when it is killed, after CancelExec.
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
    if (stubborn) killed.get_future().wait();
    response.mutable_outcome()->set_kind(sup::OUTCOME_KIND_EXITED);
    response.mutable_outcome()->set_exit_code(exit_code);
    stream->Write(response);
    return grpc::Status::OK;
  }
  grpc::Status CancelExec(grpc::ServerContext*, const sup::CancelExecRequest* request,
                          sup::CancelExecResponse*) override {
    cancelled.set_value(request->exec_id());
    return grpc::Status::OK;
  }
  std::string cell_id;
  bool stubborn = false;
  std::promise<std::string> cancelled;  // the id
  std::promise<void> killed;
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
    world_.Stop();  // what it still cancels is cancelled while the supervisor serves
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
  // Cancels the call once the command has said something.
  void ExecAndGiveUp(const std::string& session_id) {
    grpc::ClientContext context;
    const auto stream = sessions_->SessionExec(&context);
    sup::ExecRequest request;
    request.mutable_start()->set_cell_id(session_id);
    request.mutable_start()->add_argv("x");
    ASSERT_TRUE(stream->Write(request));
    sup::ExecResponse response;
    ASSERT_TRUE(stream->Read(&response));
    context.TryCancel();
    EXPECT_EQ(stream->Finish().error_code(), StatusCode::CANCELLED);
  }
  // Parts of a turn put together.
  std::vector<pb::Turn> ListTurns(const std::string& session_id, const std::string& turn_id = "") {
    pb::ListTurnsRequest request;
    request.set_session_id(session_id);
    request.set_turn_id(turn_id);
    grpc::ClientContext context;
    const auto stream = sessions_->ListTurns(&context, request);
    std::vector<pb::Turn> out;
    for (pb::ListTurnsResponse part; stream->Read(&part);) {
      if (out.empty() || out.back().id() != part.turn().id()) {
        out.push_back(part.turn());
      } else {
        out.back().mutable_chat_history()->MergeFrom(part.turn().chat_history());
      }
    }
    EXPECT_TRUE(stream->Finish().ok());
    return out;
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
  for (uint64_t last = 0; events->Read(&event);) {
    EXPECT_EQ(event.sequence(), ++last);
    if (!event.has_turn_step()) seen.push_back(event.payload_case());
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
  EXPECT_TRUE(turn.turn().chat_history().empty());
  const std::vector<pb::Turn> turns = ListTurns(session);
  ASSERT_EQ(turns.size(), 1u);
  ASSERT_EQ(turns[0].chat_history_size(), 4);
  EXPECT_EQ(turns[0].chat_history(1).kind(), "tool_use");
  EXPECT_EQ(turns[0].chat_history(2).role(), "tool");
  context.TryCancel();
  watch_context.TryCancel();
}

TEST_F(ServiceTest, AnAnswerToAnotherDigestIsRefused) {
  const std::string session = Create();
  Submit(session);
  const auto asked = world_.Await(session, event::Event::kPermissionRequested);
  pb::ResolveApprovalRequest resolve;
  resolve.set_request_id(asked.permission_requested().request_id());
  resolve.set_decision(pb::DECISION_ALLOW_ONCE);
  resolve.set_digest(std::string(64, '0'));
  const auto answer = [&] {
    grpc::ClientContext context;
    pb::ResolveApprovalResponse response;
    return approvals_->ResolveApproval(&context, resolve, &response).error_code();
  };
  EXPECT_EQ(answer(), StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(world_.approvals().size(), 1u);
  resolve.set_digest(asked.permission_requested().digest());
  EXPECT_EQ(answer(), StatusCode::OK);
}

TEST_F(ServiceTest, WhatIsAllowedForTheSessionIsListedAndForgotten) {
  const std::string session = Create();
  const pb::SubmitTurnResponse submitted = Submit(session);
  const auto asked = world_.Await(session, event::Event::kPermissionRequested);
  EXPECT_TRUE(world_.approvals().Resolve(asked.permission_requested().request_id(),
                                         {approval::Decision::kAllowAlways, "", 5}));
  world_.AwaitEnd(session, submitted.turn_id());
  pb::ListAllowedRequest list;
  list.set_session_id(session);
  pb::ListAllowedResponse listed;
  {
    grpc::ClientContext context;
    ASSERT_TRUE(approvals_->ListAllowed(&context, list, &listed).ok());
  }
  ASSERT_EQ(listed.allowed_size(), 1);
  EXPECT_EQ(listed.allowed(0).scope(), "Write");
  EXPECT_EQ(listed.allowed(0).by_uid(), 5u);
  pb::ForgetAllowedRequest forget;
  forget.set_session_id(session);
  forget.set_scope("Write");
  for (const uint32_t times : {1u, 0u}) {
    grpc::ClientContext context;
    pb::ForgetAllowedResponse forgotten;
    ASSERT_TRUE(approvals_->ForgetAllowed(&context, forget, &forgotten).ok());
    EXPECT_EQ(forgotten.forgotten(), times);
  }
  EXPECT_FALSE(world_.approvals().IsGranted(session, "Write"));
  list.set_session_id("ses_none");
  grpc::ClientContext context;
  EXPECT_EQ(approvals_->ListAllowed(&context, list, &listed).error_code(), StatusCode::NOT_FOUND);
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
  const grpc::Status status = events->Finish();
  EXPECT_EQ(status.error_code(), StatusCode::NOT_FOUND) << status.error_message();
}

// One that falls behind costs no memory and loses nothing but what it is told of.
TEST_F(ServiceTest, ASubscriberThatDoesNotReadGetsEveryEventOrAGap) {
  const std::string session = Create();
  const std::shared_ptr<event::Journal> journal = *world_.sessions().JournalOf(session);
  const event::Event delta = fakes::EventOf(R"(agent_message_delta { turn_id: "trn_1" delta: ")" +
                                            std::string(2000, 'x') + R"(" })");
  constexpr uint64_t kEvents = 12'000;
  const auto append = [&](uint64_t count) {
    for (uint64_t i = 0; i < count; ++i) {
      ASSERT_TRUE(journal->Append(delta, event::Durability::kBatched).ok());
    }
  };
  append(1);
  grpc::ClientContext context;
  const auto events = sessions_->Subscribe(&context, SubscribeTo(session, 0, true));
  pb::Event event;
  ASSERT_TRUE(events->Read(&event));
  append(kEvents / 2);
  ASSERT_TRUE(journal->RemoveThrough(kEvents / 4, event::kRetention).ok());
  append(kEvents / 2);
  ASSERT_TRUE(journal->RemoveThrough(kEvents * 3 / 4, event::kRetention).ok());
  uint64_t seen = event.sequence(), gaps = 0;
  while (seen < journal->last_sequence() && events->Read(&event)) {
    if (event.has_events_removed()) {
      ++gaps;
      EXPECT_GT(event.sequence(), seen);
      EXPECT_EQ(event.sequence(), event.events_removed().last_sequence());
    } else {
      ASSERT_EQ(event.sequence(), seen + 1);
    }
    seen = event.sequence();
  }
  EXPECT_EQ(seen, kEvents + 1);
  EXPECT_GE(gaps, 1u);
  context.TryCancel();
}

TEST_F(ServiceTest, ASessionIsExportedImportedAndCompacted) {
  const fakes::BundleSource plain;
  const std::string session = world_.Create(plain.path());
  world_.AwaitEnd(session, world_.Submit(session));
  pb::ExportSessionRequest which;
  which.set_session_id(session);
  grpc::ClientContext export_context;
  const auto parts = sessions_->ExportSession(&export_context, which);
  std::string text;
  for (pb::ExportSessionResponse part; parts->Read(&part);) text += part.data();
  ASSERT_TRUE(parts->Finish().ok());
  EXPECT_NE(text.find("\"bundle_ref\": \"local/demo@0.1.0\""), std::string::npos) << text;

  const auto import = [&](const std::string& file, pb::ImportSessionResponse* response) {
    grpc::ClientContext context;
    const auto writer = sessions_->ImportSession(&context, response);
    pb::ImportSessionRequest request;
    request.set_bundle(plain.path());
    request.set_cwd("/");
    for (size_t sent = 0; sent < file.size(); sent += 100) {
      request.set_data(file.substr(sent, 100));
      writer->Write(request);
      request.Clear();
    }
    writer->WritesDone();
    return writer->Finish();
  };
  pb::ImportSessionResponse imported;
  const grpc::Status done = import(text, &imported);
  ASSERT_TRUE(done.ok()) << done.error_message();
  EXPECT_EQ(imported.session().message_count(), 4u);
  EXPECT_EQ(HistoryOf(**world_.sessions().Get(imported.session().id())),
            HistoryOf(**world_.sessions().Get(session)));
  EXPECT_EQ(import(text.substr(0, 100), &imported).error_code(), StatusCode::INVALID_ARGUMENT);

  pb::CompactSessionRequest compact;
  compact.set_session_id(session);
  pb::CompactSessionResponse removed;
  grpc::ClientContext compact_context;
  ASSERT_TRUE(sessions_->CompactSession(&compact_context, compact, &removed).ok());
  EXPECT_GT(removed.removed_events(), 0u);
  EXPECT_GT(removed.freed_bytes(), 0u);
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
  ASSERT_NO_FATAL_FAILURE(ExecAndGiveUp(session));
  const pb::SubmitTurnResponse submitted = Submit(session);
  EXPECT_EQ(world_.Await(session, pb::Event::kPermissionRequested).session_id(), session);
}

TEST_F(ServiceTest, OperatorWhoGivesUpHoldsTheSessionUntilTheCommandIsKilled) {
  supervisor_.stubborn = true;
  const std::string session = Create();
  ASSERT_NO_FATAL_FAILURE(ExecAndGiveUp(session));
  EXPECT_EQ(supervisor_.cancelled.get_future().get(), "exe_1");
  const pb::SubmitTurnResponse submitted = Submit(session);
  EXPECT_EQ(world_.sessions().GetTurn(session, submitted.turn_id())->status,
            session::TurnStatus::kQueued);
  supervisor_.killed.set_value();
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

TEST_F(ServiceTest, VariablesComeFromTheOwnerAlone) {
  if (geteuid() != 0) GTEST_SKIP() << "another user may not submit at all";
  int fds[2] = {-1, -1};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
  grpc::AddInsecureChannelFromFd(server_.get(), fds[0]);
  const auto as_root =
      pb::SessionService::NewStub(grpc::CreateInsecureChannelFromFd("root", fds[1]));
  pb::SubmitTurnRequest request;
  request.set_session_id(Create());
  request.set_prompt("go");
  const auto make = [](session::SessionRecord& record) {
    record.owner_uid = 1000;
    return OkStatus();
  };
  ASSERT_TRUE(world_.store().Update(request.session_id(), make).ok());
  const auto submit = [&] {
    grpc::ClientContext context;
    pb::SubmitTurnResponse response;
    return as_root->SubmitTurn(&context, request, &response);
  };
  EXPECT_TRUE(submit().ok());
  (*request.mutable_env()->mutable_values())["NAME"] = "value";
  const grpc::Status refused = submit();
  EXPECT_EQ(refused.error_code(), StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(refused.error_message(),
            "env: from the session's owner alone, uid 1000, not from uid 0");
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

// Of two turns one is larger than a message may be, in 40 messages of 512 KiB.
TEST_F(ServiceTest, ASessionLargerThanAMessageIsListedWhole) {
  const std::string session = Create();
  session::TurnRecord large, small;
  large.id = "trn_large";
  large.status = session::TurnStatus::kCompleted;
  large.prompt = "go";
  for (int i = 0; i < 40; ++i) {
    large.history.push_back({.kind = model::MessageKind::kAssistant,
                             .content = std::to_string(i) + std::string(512 * 1024, 'x')});
  }
  small.id = "trn_small";
  small.status = session::TurnStatus::kFailed;
  small.error = "why";
  const auto add = [&](session::SessionRecord& record) {
    record.turns = {large, small};
    return OkStatus();
  };
  ASSERT_TRUE(world_.store().Update(session, add).ok());
  pb::GetSessionRequest get;
  get.set_session_id(session);
  pb::GetSessionResponse got;
  grpc::ClientContext context;
  ASSERT_TRUE(sessions_->GetSession(&context, get, &got).ok());

  const std::vector<pb::Turn> turns = ListTurns(session);
  ASSERT_EQ(turns.size(), 2u);
  EXPECT_EQ(turns[0].prompt(), "go");
  ASSERT_EQ(turns[0].chat_history_size(), 40);
  for (int i = 0; i < 40; ++i) {
    EXPECT_EQ(turns[0].chat_history(i).content(), large.history[static_cast<size_t>(i)].content);
  }
  EXPECT_EQ(turns[1].id(), "trn_small");
  EXPECT_EQ(turns[1].status(), pb::TURN_STATUS_FAILED);
  EXPECT_EQ(turns[1].error(), "why");
  EXPECT_EQ(ListTurns(session, "trn_small").size(), 1u);
}

TEST_F(ServiceTest, CancelledAndFailedTurnsAreListed) {
  const std::string session = Create();
  const std::string cancelled = Submit(session).turn_id();
  world_.Await(session, pb::Event::kPermissionRequested);
  ASSERT_TRUE(*world_.sessions().Cancel(session, cancelled));
  world_.sandbox().FailPrepare(FailedPrecondition("no"));
  const std::string failed = Submit(session).turn_id();
  world_.AwaitEnd(session, failed);
  const std::vector<pb::Turn> turns = ListTurns(session);
  ASSERT_EQ(turns.size(), 2u);
  EXPECT_EQ(turns[0].id(), cancelled);
  EXPECT_EQ(turns[0].status(), pb::TURN_STATUS_CANCELLED);
  EXPECT_EQ(turns[1].id(), failed);
  EXPECT_EQ(turns[1].status(), pb::TURN_STATUS_FAILED);
  EXPECT_FALSE(turns[1].error().empty());
}

TEST_F(ServiceTest, ReadsAFileAndListsSessions) {
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
}

TEST_F(ServiceTest, ListsSessionsByPages) {
  std::set<std::string> made;
  for (int i = 0; i < 5; ++i) made.insert(Create());
  std::set<std::string> listed;
  pb::ListSessionsRequest request;
  request.set_page_size(2);
  for (const int expected : {2, 2, 1}) {
    pb::ListSessionsResponse page;
    grpc::ClientContext context;
    ASSERT_TRUE(sessions_->ListSessions(&context, request, &page).ok());
    EXPECT_EQ(page.sessions_size(), expected);
    for (const pb::Session& session : page.sessions()) listed.insert(session.id());
    request.set_page_token(page.next_page_token());
  }
  EXPECT_EQ(listed, made);
  EXPECT_EQ(request.page_token(), "");
  request.set_page_token("2");
  pb::ListSessionsResponse page;
  grpc::ClientContext context;
  EXPECT_EQ(sessions_->ListSessions(&context, request, &page).error_code(),
            grpc::StatusCode::INVALID_ARGUMENT);
}

}  // namespace
}  // namespace odyssey::service
