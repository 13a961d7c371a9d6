// The service over a real gRPC server and channel in this process, between sessions on fakes and a
// supervisor that records what reaches it.

#include "agentd/service/changes_service.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "agentd/service/session_service.h"
#include "tests/fakes/bundle_source.h"
#include "tests/fakes/session_world.h"

namespace odyssey::service {
namespace {

namespace pb = ::odyssey::agent::v1;
namespace sup = ::odyssey::supervisor::v1;
using grpc::StatusCode;

class FakeChanges final : public sup::Changes::Service {
 public:
  grpc::Status ListReviewed(grpc::ServerContext*, const sup::ListReviewedRequest*,
                            sup::ListReviewedResponse* response) override {
    for (const std::string& session : reviewed) {
      response->add_cells()->mutable_key()->set_session_id(session);
    }
    return grpc::Status::OK;
  }
  grpc::Status ListChanges(grpc::ServerContext*, const sup::ListChangesRequest* request,
                           grpc::ServerWriter<sup::ListChangesResponse>* writer) override {
    sup::ListChangesResponse response;
    for (const auto& selection : request->selections()) {
      response.mutable_change()->set_path(selection.path());
      writer->Write(response);
    }
    response.mutable_end()->set_digest("d1");
    writer->Write(response);
    return Saw(request->key());
  }
  grpc::Status DiffChanges(grpc::ServerContext*, const sup::DiffChangesRequest* request,
                           grpc::ServerWriter<sup::DiffChangesResponse>* writer) override {
    sup::DiffChangesResponse response;
    response.set_text("+x\n");
    writer->Write(response);
    against = Name(request->against());
    return Saw(request->key());
  }
  grpc::Status CommitChanges(grpc::ServerContext*, const sup::CommitChangesRequest* request,
                             sup::CommitChangesResponse* response) override {
    response->set_commit(request->digest() == "d1" ? 1 : 0);
    return Saw(request->key());
  }
  grpc::Status UndoCommits(grpc::ServerContext*, const sup::UndoCommitsRequest* request,
                           sup::UndoCommitsResponse*) override {
    return Saw(request->key());
  }
  grpc::Status DiscardChanges(grpc::ServerContext*, const sup::DiscardChangesRequest* request,
                              sup::DiscardChangesResponse*) override {
    return Saw(request->key());
  }
  grpc::Status ListCommits(grpc::ServerContext*, const sup::ListCommitsRequest* request,
                           sup::ListCommitsResponse*) override {
    return Saw(request->key());
  }

  std::vector<std::string> reviewed;
  std::vector<std::string> keys;  // of the calls that came
  std::string against;            // of the last diff
  grpc::Status answer;

 private:
  static std::string Name(const sup::CellKey& key) {
    return key.session_id() + "/" + key.agent_id() + "/" + key.kind() + "/" + key.component();
  }
  grpc::Status Saw(const sup::CellKey& key) {
    keys.push_back(Name(key));
    return answer;
  }
};

class ChangesServiceTest : public ::testing::Test {
 protected:
  ChangesServiceTest() {
    grpc::ServerBuilder supervisor_builder;
    supervisor_builder.RegisterService(&supervisor_);
    supervisor_server_ = supervisor_builder.BuildAndStart();
    const auto channel = supervisor_server_->InProcessChannel({});
    changes_service_ = std::make_unique<ChangesService>(&world_.sessions(), channel);
    session_service_ = std::make_unique<SessionService>(&world_.sessions(), channel);
    grpc::ServerBuilder builder;
    builder.RegisterService(changes_service_.get());
    builder.RegisterService(session_service_.get());
    server_ = builder.BuildAndStart();
    changes_ = sup::Changes::NewStub(server_->InProcessChannel({}));
    sessions_ = pb::SessionService::NewStub(server_->InProcessChannel({}));
    session_ = Create();
  }
  ~ChangesServiceTest() override {
    server_->Shutdown(std::chrono::system_clock::now());
    supervisor_server_->Shutdown(std::chrono::system_clock::now());
  }

  // Of the uid that a channel within the process has.
  std::string Create() {
    pb::CreateSessionRequest request;
    request.set_bundle(bundle_.path());
    request.set_cwd("/");
    pb::CreateSessionResponse response;
    grpc::ClientContext context;
    EXPECT_TRUE(sessions_->CreateSession(&context, request, &response).ok());
    return response.session().id();
  }
  void GiveToAnother(const std::string& session) {
    ASSERT_TRUE(world_.store()
                    .Update(session,
                            [](session::SessionRecord& record) {
                              record.owner_uid = 1000;
                              return OkStatus();
                            })
                    .ok());
  }
  template <typename Request, typename Method, typename Response>
  grpc::Status Call(Method method, Response* response, const std::string& session) {
    Request request;
    request.mutable_key()->set_session_id(session);
    request.mutable_key()->set_component("another");
    grpc::ClientContext context;
    return (changes_.get()->*method)(&context, request, response);
  }
  grpc::Status Discard(const std::string& session) {
    sup::DiscardChangesResponse response;
    return Call<sup::DiscardChangesRequest>(&sup::Changes::Stub::DiscardChanges, &response,
                                            session);
  }
  // Every call that names a session, and what each answers.
  std::vector<grpc::Status> CallAll(const std::string& session) {
    std::vector<grpc::Status> out;
    {
      sup::ListChangesRequest request;
      request.mutable_key()->set_session_id(session);
      grpc::ClientContext context;
      sup::ListChangesResponse response;
      const auto stream = changes_->ListChanges(&context, request);
      while (stream->Read(&response)) {
      }
      out.push_back(stream->Finish());
    }
    {
      sup::DiffChangesRequest request;
      request.mutable_key()->set_session_id(session);
      grpc::ClientContext context;
      sup::DiffChangesResponse response;
      const auto stream = changes_->DiffChanges(&context, request);
      while (stream->Read(&response)) {
      }
      out.push_back(stream->Finish());
    }
    sup::CommitChangesResponse commit;
    sup::UndoCommitsResponse undo;
    sup::ListCommitsResponse commits;
    out.push_back(
        Call<sup::CommitChangesRequest>(&sup::Changes::Stub::CommitChanges, &commit, session));
    out.push_back(Call<sup::UndoCommitsRequest>(&sup::Changes::Stub::UndoCommits, &undo, session));
    out.push_back(Discard(session));
    out.push_back(
        Call<sup::ListCommitsRequest>(&sup::Changes::Stub::ListCommits, &commits, session));
    return out;
  }

  fakes::SessionWorld world_{fakes::CallOnce("Write", R"({"content":"x","path":"a"})")};
  const fakes::BundleSource bundle_{"{ask: [Write]}"};
  FakeChanges supervisor_;
  std::unique_ptr<grpc::Server> supervisor_server_;
  std::unique_ptr<ChangesService> changes_service_;
  std::unique_ptr<SessionService> session_service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<sup::Changes::Stub> changes_;
  std::unique_ptr<pb::SessionService::Stub> sessions_;
  std::string session_;
};

TEST_F(ChangesServiceTest, EveryCallGoesOnWithTheKeyOfTheSessionsCell) {
  for (const grpc::Status& status : CallAll(session_)) {
    EXPECT_TRUE(status.ok()) << status.error_message();
  }
  EXPECT_EQ(supervisor_.keys, std::vector<std::string>(6, session_ + "/demo/tooling/tools"));
}

TEST_F(ChangesServiceTest, ADiffIsAgainstASessionOfTheCallerAlone) {
  const std::string other = Create();
  const auto diff = [&] {
    sup::DiffChangesRequest request;
    request.mutable_key()->set_session_id(session_);
    request.mutable_against()->set_session_id(other);
    grpc::ClientContext context;
    const auto stream = changes_->DiffChanges(&context, request);
    sup::DiffChangesResponse response;
    while (stream->Read(&response)) {
    }
    return stream->Finish().error_code();
  };
  EXPECT_EQ(diff(), grpc::StatusCode::OK);
  EXPECT_EQ(supervisor_.against, other + "/demo/tooling/tools");
  GiveToAnother(other);
  EXPECT_NE(diff(), grpc::StatusCode::OK);
  EXPECT_EQ(supervisor_.keys.size(), 1u);
}

TEST_F(ChangesServiceTest, RequestAndAnswerAreTheSupervisors) {
  sup::ListChangesRequest request;
  request.mutable_key()->set_session_id(session_);
  request.add_selections()->set_path("a");
  request.add_selections()->set_path("b");
  grpc::ClientContext context;
  const auto stream = changes_->ListChanges(&context, request);
  std::string seen;
  for (sup::ListChangesResponse response; stream->Read(&response);) {
    seen += response.has_end() ? response.end().digest() : response.change().path() + " ";
  }
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(seen, "a b d1");

  sup::CommitChangesRequest commit;
  commit.mutable_key()->set_session_id(session_);
  commit.set_digest("d1");
  sup::CommitChangesResponse response;
  grpc::ClientContext commit_context;
  EXPECT_TRUE(changes_->CommitChanges(&commit_context, commit, &response).ok());
  EXPECT_EQ(response.commit(), 1u);

  supervisor_.answer = {StatusCode::ABORTED, "not what was looked at"};
  for (const grpc::Status& status : CallAll(session_)) {
    EXPECT_EQ(status.error_code(), StatusCode::ABORTED);
    EXPECT_EQ(status.error_message(), "not what was looked at");
  }
}

TEST_F(ChangesServiceTest, AnothersSessionIsRefusedAndNothingReachesTheSupervisor) {
  GiveToAnother(session_);
  for (const grpc::Status& status : CallAll(session_)) {
    EXPECT_EQ(status.error_code(), StatusCode::PERMISSION_DENIED) << status.error_message();
  }
  for (const grpc::Status& status : CallAll("ses_unknown")) {
    EXPECT_EQ(status.error_code(), StatusCode::NOT_FOUND) << status.error_message();
  }
  EXPECT_TRUE(supervisor_.keys.empty());
}

TEST_F(ChangesServiceTest, ListsTheCallersSessionsAlone) {
  const std::string others = Create();
  GiveToAnother(others);
  supervisor_.reviewed = {others, session_, "", "ses_unknown"};
  sup::ListReviewedResponse response;
  grpc::ClientContext context;
  ASSERT_TRUE(changes_->ListReviewed(&context, {}, &response).ok());
  ASSERT_EQ(response.cells_size(), 1);
  EXPECT_EQ(response.cells(0).key().session_id(), session_);
}

TEST_F(ChangesServiceTest, NothingIsDiscardedWhileATurnRuns) {
  const std::string turn = world_.Submit(session_);
  const event::Event asked = world_.Await(session_, event::Event::kPermissionRequested);
  const grpc::Status status = Discard(session_);
  EXPECT_EQ(status.error_code(), StatusCode::FAILED_PRECONDITION) << status.error_message();
  EXPECT_TRUE(supervisor_.keys.empty());
  const std::string id = asked.permission_requested().request_id();
  EXPECT_TRUE(world_.approvals().Resolve(id, {approval::Decision::kDeny, "", 5}));
  world_.AwaitEnd(session_, turn);
  EXPECT_TRUE(Discard(session_).ok());
}

TEST_F(ChangesServiceTest, ACellIsNotForkedPastItsSession) {
  sup::ForkCellResponse response;
  grpc::ClientContext context;
  EXPECT_EQ(changes_->ForkCell(&context, {}, &response).error_code(), StatusCode::UNIMPLEMENTED);
}

}  // namespace
}  // namespace odyssey::service
