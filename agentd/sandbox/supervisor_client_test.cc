#include "agentd/sandbox/supervisor_client.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>

#include "common/base/refusal.h"
#include "common/rpc/status_map.h"
#include "odyssey/supervisor/v1/supervisor.grpc.pb.h"
#include "tests/fakes/temporary_directory.h"

namespace odyssey::sandbox {
namespace {

namespace pb = ::odyssey::supervisor::v1;

pb::ExecResponse Started() {
  pb::ExecResponse out;
  out.mutable_started()->set_exec_id("exe_1");
  out.mutable_started()->set_run_id("run_1");
  return out;
}
pb::ExecResponse Output(pb::OutputStream stream, const std::string& data) {
  pb::ExecResponse out;
  out.mutable_output()->set_stream(stream);
  out.mutable_output()->set_data(data);
  return out;
}
pb::ExecResponse OutcomeOf(pb::OutcomeKind kind, int exit_code = 0) {
  pb::ExecResponse out;
  out.mutable_outcome()->set_kind(kind);
  out.mutable_outcome()->set_exit_code(exit_code);
  return out;
}

// Answers as the tests say; remembers what it was asked.
class ScriptedSupervisor final : public pb::Supervisor::Service {
 public:
  grpc::Status PrepareCell(grpc::ServerContext*, const pb::PrepareCellRequest* request,
                           pb::PrepareCellResponse* response) override {
    prepared = *request;
    response->mutable_cell()->set_cell_id("cel_1");
    response->set_created(true);
    return grpc::Status::OK;
  }
  grpc::Status CheckCell(grpc::ServerContext*, const pb::CheckCellRequest* request,
                         pb::CheckCellResponse*) override {
    checked = request->cell();
    return check_status;
  }
  grpc::Status FileOp(grpc::ServerContext*, const pb::FileOpRequest*,
                      pb::FileOpResponse*) override {
    return file_status;
  }
  grpc::Status Exec(grpc::ServerContext* context,
                    grpc::ServerReaderWriter<pb::ExecResponse, pb::ExecRequest>* stream) override {
    pb::ExecRequest request;
    stream->Read(&request);
    started = request.start();
    for (const pb::ExecResponse& answer : answers) stream->Write(answer);
    if (!hang) return grpc::Status::OK;
    hanging.set_value();
    while (!cancel_asked && !context->IsCancelled()) stream->Write(answers.front());
    if (context->IsCancelled()) return grpc::Status::CANCELLED;
    killed = true;
    stream->Write(OutcomeOf(pb::OUTCOME_KIND_CANCELLED));
    return grpc::Status::OK;
  }

  grpc::Status CancelExec(grpc::ServerContext*, const pb::CancelExecRequest* request,
                          pb::CancelExecResponse*) override {
    cancel_asked = request->exec_id() == "exe_1";
    return grpc::Status::OK;
  }

  pb::PrepareCellRequest prepared, checked;
  grpc::Status check_status;
  grpc::Status file_status{grpc::StatusCode::PERMISSION_DENIED, "no"};
  pb::ExecStart started;
  std::vector<pb::ExecResponse> answers;
  bool hang = false;
  std::promise<void> hanging;
  std::atomic<bool> cancel_asked = false, killed = false;
};

class SupervisorClientTest : public ::testing::Test {
 protected:
  SupervisorClientTest() { Serve(); }
  ~SupervisorClientTest() override { server_->Shutdown(std::chrono::system_clock::now()); }

  void Serve() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + socket_, grpc::InsecureServerCredentials());
    builder.RegisterService(&supervisor_);
    server_ = builder.BuildAndStart();
  }
  ExecSink Collect() {
    return {[this](const pb::ExecStarted& started) {
              started_ = started;
              return OkStatus();
            },
            [this](const pb::ExecOutput& output) {
              (output.stream() == pb::OUTPUT_STREAM_STDOUT ? out_ : err_) += output.data();
              return OkStatus();
            }};
  }
  static pb::ExecStart Command() {
    pb::ExecStart start;
    start.set_cell_id("cel_1");
    start.add_argv("x");
    return start;
  }

  fakes::TemporaryDirectory directory_;
  const std::string socket_ = directory_.path() + "/s.sock";
  ScriptedSupervisor supervisor_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Sandbox> client_ = NewSupervisorClient(OpenSupervisorChannel(socket_), socket_);
  pb::ExecStarted started_;
  std::string out_, err_;
};

TEST_F(SupervisorClientTest, PreparesWhatTheSpecSays) {
  CellSpec spec;
  spec.key = {"ses_1", "my agent/2", "tooling", "tools"};
  spec.request.mode = policy::Mode::kReadOnly;
  spec.request.mounts = {{"/src", "/workspace/mount/read/current", policy::Access::kReadOnly}};
  spec.request.env = {{"A", "b"}};
  spec.request.limits.pids = 7;
  spec.request.workspace = "/store/b";
  spec.bundle_digest = "d";
  Result<Cell> cell = client_->PrepareCell(spec);
  ASSERT_TRUE(cell.ok()) << cell.status().ToString();
  EXPECT_EQ(cell->id, "cel_1");
  EXPECT_TRUE(cell->created);
  const pb::PrepareCellRequest& asked = supervisor_.prepared;
  EXPECT_EQ(asked.key().session_id(), "ses_1");
  EXPECT_EQ(asked.key().agent_id().substr(0, 11), "my_agent_2-") << asked.key().agent_id();
  EXPECT_EQ(asked.sandbox().mode(), policy::v1::MODE_READ_ONLY);
  EXPECT_EQ(asked.sandbox().mounts(0).access(), policy::v1::ACCESS_READ_ONLY);
  EXPECT_EQ(asked.sandbox().env().at("A"), "b");
  EXPECT_EQ(asked.sandbox().limits().pids(), 7u);
  EXPECT_EQ(asked.workspace(), "/store/b");
}

TEST_F(SupervisorClientTest, ChecksWhatItWouldPrepare) {
  CellSpec spec;
  spec.key = {"ses_1", "a", "tooling", "tools"};
  spec.request.mode = policy::Mode::kDangerFullAccess;
  spec.request.workspace = "/srv";
  spec.bundle_digest = "d";
  spec.owner_uid = 1000;
  spec.allow_danger = true;
  EXPECT_TRUE(client_->CheckCell(spec).ok());
  ASSERT_TRUE(client_->PrepareCell(spec).ok());
  EXPECT_EQ(supervisor_.checked.SerializeAsString(), supervisor_.prepared.SerializeAsString());
  EXPECT_EQ(supervisor_.checked.owner_uid(), 1000u);
  EXPECT_TRUE(supervisor_.checked.allow_danger());
  supervisor_.check_status = grpc::Status(grpc::StatusCode::PERMISSION_DENIED, "not granted");
  EXPECT_EQ(client_->CheckCell(spec), PermissionDenied("not granted"));
  supervisor_.check_status = grpc::Status(grpc::StatusCode::UNAVAILABLE, "stopping");
  EXPECT_EQ(client_->CheckCell(spec).code(), Code::kUnavailable);
}

TEST_F(SupervisorClientTest, StreamsOutputAndReturnsTheOutcome) {
  supervisor_.answers = {Started(), Output(pb::OUTPUT_STREAM_STDOUT, "a"),
                         Output(pb::OUTPUT_STREAM_STDERR, "b"),
                         OutcomeOf(pb::OUTCOME_KIND_EXITED, 3)};
  pb::ExecStart start = Command();
  start.set_cwd("sub");
  start.set_wall_clock_ms(1000);
  start.set_stdout_cap_bytes(64);
  start.set_keep_output(true);
  const Result<pb::ExecOutcome> result = client_->Exec(start, Collect(), {});
  ASSERT_TRUE(result.ok()) << result.status().ToString();
  EXPECT_EQ(result->kind(), pb::OUTCOME_KIND_EXITED);
  EXPECT_EQ(result->exit_code(), 3);
  EXPECT_EQ(started_.run_id(), "run_1");
  EXPECT_EQ(started_.exec_id() + out_ + err_, "exe_1ab");
  EXPECT_EQ(supervisor_.started.cwd(), "sub");
  EXPECT_EQ(supervisor_.started.stdout_cap_bytes(), 64u);
  EXPECT_TRUE(supervisor_.started.keep_output());
}

TEST_F(SupervisorClientTest, CellThatEndsUnderACommandIsUnavailable) {
  auto ended = OutcomeOf(pb::OUTCOME_KIND_SETUP_FAILED);
  ended.mutable_outcome()->set_cell_ended(true);
  supervisor_.answers = {Started(), ended};
  EXPECT_EQ(client_->Exec(Command(), Collect(), {}).status().code(), Code::kUnavailable);
  supervisor_.answers = {Started()};
  EXPECT_EQ(client_->Exec(Command(), Collect(), {}).status().code(), Code::kUnavailable);
}

// A working directory that is none, for example: the cell goes on, and so does the turn.
TEST_F(SupervisorClientTest, CommandThatCannotBeSetUpIsAnOutcome) {
  supervisor_.answers = {Started(), OutcomeOf(pb::OUTCOME_KIND_SETUP_FAILED)};
  EXPECT_TRUE(client_->Exec(Command(), Collect(), {}).ok());
  supervisor_.answers = {OutcomeOf(pb::OUTCOME_KIND_SETUP_FAILED)};
  const Result<pb::ExecOutcome> result = client_->Exec(Command(), Collect(), {});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->kind(), pb::OUTCOME_KIND_SETUP_FAILED);
}

TEST_F(SupervisorClientTest, AnOutcomeOfALaterSupervisorIsAFailure) {
  supervisor_.answers = {Started(), OutcomeOf(static_cast<pb::OutcomeKind>(77))};
  const Result<pb::ExecOutcome> result = client_->Exec(Command(), Collect(), {});
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->kind(), pb::OUTCOME_KIND_SETUP_FAILED);
}

TEST_F(SupervisorClientTest, StopReturnsWhenTheCommandIsKilled) {
  supervisor_.answers = {Started()};
  supervisor_.hang = true;
  std::stop_source stop;
  std::thread canceller([&] {
    supervisor_.hanging.get_future().wait();
    stop.request_stop();
  });
  EXPECT_EQ(client_->Exec(Command(), Collect(), stop.get_token()).status().code(),
            Code::kCancelled);
  EXPECT_TRUE(supervisor_.killed);
  canceller.join();
}

TEST_F(SupervisorClientTest, StopBeforeTheCommandHasBegun) {
  supervisor_.answers = {Started()};
  supervisor_.hang = true;
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(client_->Exec(Command(), Collect(), stop.get_token()).status().code(),
            Code::kCancelled);
  EXPECT_TRUE(supervisor_.killed);
}

TEST_F(SupervisorClientTest, ErrorOfTheSinkEndsTheCommand) {
  supervisor_.answers = {Started()};
  supervisor_.hang = true;
  const ExecSink refuses{[](const pb::ExecStarted&) { return Internal("disk full"); },
                         [](const pb::ExecOutput&) { return OkStatus(); }};
  EXPECT_EQ(client_->Exec(Command(), refuses, {}).status(), Internal("disk full"));
  EXPECT_TRUE(supervisor_.killed);
}

TEST_F(SupervisorClientTest, KeepsTheSupervisorsCodes) {
  EXPECT_EQ(client_->ReadFile({"cel_1"}, "a", 0, 0).status(), PermissionDenied("no"));
}

TEST_F(SupervisorClientTest, TellsWhatAFileOperationWasRefusedBy) {
  pb::Denial denial;
  denial.set_kind("path");
  denial.set_rule("mount /srv read_only");
  supervisor_.file_status = rpc::ToGrpc(PermissionDenied("no"), &denial);
  std::vector<pb::Denial> told;
  const FilePlace place{"cel_1", [&](const pb::Denial& d) { told.push_back(d); }};
  EXPECT_EQ(client_->ReadFile(place, "a", 0, 0).status(), PermissionDenied("no"));
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].rule(), "mount /srv read_only");
}

TEST_F(SupervisorClientTest, TellsWhatACommandWasRefused) {
  pb::ExecResponse denied;
  denied.mutable_denial()->set_resource("/srv/x");
  denied.mutable_denial()->set_hint(true);
  supervisor_.answers = {Started(), denied, OutcomeOf(pb::OUTCOME_KIND_EXITED, 1)};
  std::vector<pb::Denial> told;
  ExecSink sink = Collect();
  sink.denied = [&](const pb::Denial& d) {
    told.push_back(d);
    return OkStatus();
  };
  EXPECT_TRUE(client_->Exec(Command(), sink, {}).ok());
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].resource(), "/srv/x");
  EXPECT_TRUE(client_->Exec(Command(), Collect(), {}).ok()) << "a sink need not take denials";
}

TEST_F(SupervisorClientTest, MissingCellIsAnotherThingThanAMissingFile) {
  supervisor_.file_status = grpc::Status(grpc::StatusCode::NOT_FOUND, "open a: No such file");
  EXPECT_EQ(client_->ReadFile({"cel_1"}, "a", 0, 0).status().code(), Code::kNotFound);
  const Status gone = AboutField("cell_id", NotFound("cell_id \"cel_1\": no such cell"));
  supervisor_.file_status = rpc::ToGrpc(gone);
  EXPECT_EQ(client_->ReadFile({"cel_1"}, "a", 0, 0).status().code(), Code::kUnavailable);
}

TEST_F(SupervisorClientTest, NextCallAfterARestartWorks) {
  ASSERT_TRUE(client_->PrepareCell({}).ok());
  server_->Shutdown(std::chrono::system_clock::now());
  server_.reset();
  EXPECT_EQ(client_->ReadFile({"cel_1"}, "a", 0, 0).status().code(), Code::kUnavailable);
  Serve();
  EXPECT_TRUE(client_->PrepareCell({}).ok());
}

}  // namespace
}  // namespace odyssey::sandbox
