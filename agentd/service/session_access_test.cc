// Every method of every service of agentd's socket: who may call it for a session of another user.

#include "agentd/service/session_access.h"

#include <google/protobuf/message.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "agentd/service/approval_service.h"
#include "agentd/service/bundle_service.h"
#include "agentd/service/cell_service.h"
#include "agentd/service/changes_service.h"
#include "agentd/service/mcp_server_service.h"
#include "agentd/service/metrics_collector.h"
#include "agentd/service/session_service.h"
#include "agentd/service/token_service.h"
#include "common/rpc/metrics_service.h"
#include "tests/fakes/bundle_source.h"
#include "tests/fakes/session_world.h"

namespace odyssey::service {
namespace {

using google::protobuf::Message;

enum class For {
  kOwner,        // of the session, and root
  kAdmin,        // these and the admin group
  kNoSession,    // names no session: what it makes and shows is the caller's own, or for admins all
  kOperator,     // root, the admin group and agentd's own uid: it tells of all users together
  kHttp,         // --http-uid alone, which needs no token for it
  kUnavailable,  // is not served here
};

// As docs/OPERATIONS.md has them.
const std::map<std::string, std::map<std::string, For>> kMethods = {
    {"odyssey.agent.v1.SessionService",
     {{"GetInfo", For::kNoSession},      {"CreateSession", For::kNoSession},
      {"ListSessions", For::kNoSession}, {"GetSession", For::kAdmin},
      {"DeleteSession", For::kAdmin},    {"SubmitTurn", For::kOwner},
      {"GetTurn", For::kAdmin},          {"ListTurns", For::kAdmin},
      {"CancelTurn", For::kAdmin},       {"Subscribe", For::kAdmin},
      {"SessionExec", For::kOwner},      {"PrepareSessionExec", For::kAdmin},
      {"ReadFile", For::kAdmin},         {"ForkSession", For::kOwner},
      {"ListTools", For::kNoSession},    {"ListJobs", For::kAdmin},
      {"StopJob", For::kAdmin},          {"RevokeGrant", For::kAdmin},
      {"ExportSession", For::kAdmin},    {"ImportSession", For::kNoSession},
      {"CompactSession", For::kAdmin},   {"GetQuota", For::kNoSession}}},
    {"odyssey.agent.v1.ApprovalService",
     {{"ListApprovals", For::kNoSession},
      {"ResolveApproval", For::kAdmin},
      {"WatchApprovals", For::kNoSession},
      {"ListAllowed", For::kAdmin},
      {"ForgetAllowed", For::kAdmin}}},
    {"odyssey.agent.v1.BundleService",
     {{"BuildBundle", For::kNoSession},
      {"ImportBundle", For::kNoSession},
      {"ListBundles", For::kNoSession},
      {"InspectBundle", For::kNoSession},
      {"ExportBundle", For::kNoSession},
      {"RemoveBundle", For::kNoSession}}},
    {"odyssey.agent.v1.CellService",
     {{"ListCells", For::kNoSession}, {"ExplainPolicy", For::kAdmin}}},
    {"odyssey.supervisor.v1.Changes",
     {{"ListReviewed", For::kNoSession},
      {"ListChanges", For::kAdmin},
      {"DiffChanges", For::kAdmin},
      {"CommitChanges", For::kOwner},
      {"UndoCommits", For::kOwner},
      {"DiscardChanges", For::kOwner},
      {"ListCommits", For::kAdmin},
      {"ForkCell", For::kUnavailable}}},
    {"odyssey.agent.v1.TokenService",
     {{"CreateToken", For::kNoSession},
      {"ListTokens", For::kNoSession},
      {"RevokeToken", For::kNoSession},
      {"CreateLink", For::kNoSession},
      {"ExchangeLink", For::kHttp}}},
    {"odyssey.agent.v1.McpServerService", {{"ListMcpServers", For::kOwner}}},
    {"odyssey.ops.v1.Metrics", {{"GetMetrics", For::kOperator}}},
};

class SessionAccessTest : public ::testing::Test {
 protected:
  explicit SessionAccessTest(std::optional<uid_t> http_uid = std::nullopt)
      : world_(fakes::CallOnce("Write", R"({"content":"x","path":"a"})"), {}, http_uid) {
    const auto supervisor =
        grpc::CreateChannel("unix:/nonexistent", grpc::InsecureChannelCredentials());
    sessions_ = std::make_unique<SessionService>(&world_.sessions(), supervisor);
    approvals_ = std::make_unique<ApprovalService>(&world_.approvals(), &world_.sessions());
    changes_ = std::make_unique<ChangesService>(&world_.sessions(), supervisor);
    cells_ = std::make_unique<CellService>(&world_.sessions(), supervisor);
    bundles_ = std::make_unique<BundleService>(&world_.bundles(), &world_.sessions());
    tokens_ = std::make_unique<TokenService>(&world_.sessions().runtime());
    servers_ = std::make_unique<McpServerService>(&world_.sessions());
    collector_ = std::make_unique<MetricsCollector>(&counted_, &world_.sessions(),
                                                    &world_.bundles(), supervisor);
    metrics_ = std::make_unique<rpc::MetricsService>(
        [this](const auto& call) { return collector_->CollectFor(call); });
    grpc::ServerBuilder builder;
    builder.RegisterService(metrics_.get());
    builder.RegisterService(servers_.get());
    builder.RegisterService(sessions_.get());
    builder.RegisterService(approvals_.get());
    builder.RegisterService(changes_.get());
    builder.RegisterService(cells_.get());
    builder.RegisterService(bundles_.get());
    builder.RegisterService(tokens_.get());
    server_ = builder.BuildAndStart();
    channel_ = server_->InProcessChannel({});
    session_ = world_.Create(bundle_.path());
    world_.Submit(session_);
    request_ = world_.Await(session_, event::Event::kPermissionRequested)
                   .permission_requested()
                   .request_id();
    const auto anothers = [](session::SessionRecord& record) {
      record.owner_uid = 1000;
      return OkStatus();
    };
    EXPECT_TRUE(world_.store().Update(session_, anothers).ok());
  }
  ~SessionAccessTest() override { server_->Shutdown(std::chrono::system_clock::now()); }

  // Names the session, or its open request for approval.
  std::unique_ptr<Message> RequestFor(const google::protobuf::MethodDescriptor& method) {
    const google::protobuf::Descriptor* type = method.input_type();
    std::unique_ptr<Message> out(
        google::protobuf::MessageFactory::generated_factory()->GetPrototype(type)->New());
    Set(out.get(), "session_id", session_);
    Set(out.get(), "request_id", request_);
    for (const auto& [part, field] : {std::pair("key", "session_id"), {"start", "cell_id"}}) {
      const auto* inner = type->FindFieldByName(part);
      if (inner != nullptr)
        Set(out->GetReflection()->MutableMessage(out.get(), inner), field, session_);
    }
    if (const auto* decision = type->FindFieldByName("decision")) {
      out->GetReflection()->SetEnumValue(out.get(), decision, 1);
    }
    return out;
  }

  // The message of the failure, "" without one.
  std::string Call(const google::protobuf::MethodDescriptor& method,
                   const std::string& authorization = "") {
    return CallFor(method, authorization).error_message();
  }
  grpc::Status CallFor(const google::protobuf::MethodDescriptor& method,
                       const std::string& authorization) {
    const std::string path = "/" + method.service()->full_name() + "/" + method.name();
    const grpc::Slice bytes(RequestFor(method)->SerializeAsString());
    grpc::GenericStub stub(channel_);
    grpc::CompletionQueue queue;
    grpc::ClientContext context;
    if (!authorization.empty()) context.AddMetadata("authorization", authorization);
    const auto done = [&queue] {
      void* tag = nullptr;
      bool ok = false;
      return queue.Next(&tag, &ok) && ok;
    };
    const auto call = stub.PrepareCall(&context, path, &queue);
    call->StartCall(nullptr);
    done();
    call->WriteLast(grpc::ByteBuffer(&bytes, 1), grpc::WriteOptions(), nullptr);
    done();
    grpc::ByteBuffer answer;
    call->Read(&answer, nullptr);
    if (done()) context.TryCancel();
    grpc::Status status;
    call->Finish(&status, nullptr);
    done();
    return status.error_code() == grpc::StatusCode::CANCELLED ? grpc::Status::OK : status;
  }

  // Every method but those of --http-uid.
  static void ForEachMethod(
      const std::function<void(const google::protobuf::MethodDescriptor&, For)>& visit) {
    for (const auto& [name, methods] : kMethods) {
      const google::protobuf::ServiceDescriptor* service =
          google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(name);
      for (int i = 0; i < service->method_count(); ++i) {
        visit(*service->method(i), methods.at(service->method(i)->name()));
      }
    }
  }

  fakes::SessionWorld world_;
  const fakes::BundleSource bundle_{"{ask: [Write]}"};
  std::unique_ptr<SessionService> sessions_;
  std::unique_ptr<ApprovalService> approvals_;
  std::unique_ptr<ChangesService> changes_;
  std::unique_ptr<CellService> cells_;
  std::unique_ptr<BundleService> bundles_;
  std::unique_ptr<TokenService> tokens_;
  std::unique_ptr<McpServerService> servers_;
  agent::Metrics counted_{"1"};
  std::unique_ptr<MetricsCollector> collector_;
  std::unique_ptr<rpc::MetricsService> metrics_;
  std::unique_ptr<grpc::Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::string session_, request_;

 private:
  static void Set(Message* message, const std::string& name, const std::string& value) {
    const auto* field = message->GetDescriptor()->FindFieldByName(name);
    if (field != nullptr) message->GetReflection()->SetString(message, field, value);
  }
};

// The refusal of another user says for whom the method is.
TEST_F(SessionAccessTest, EveryMethodIsForWhomTheTableSays) {
  for (const auto& [name, methods] : kMethods) {
    const google::protobuf::ServiceDescriptor* service =
        google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(name);
    ASSERT_NE(service, nullptr) << name;
    EXPECT_EQ(static_cast<size_t>(service->method_count()), methods.size()) << name;
    for (int i = 0; i < service->method_count(); ++i) {
      const google::protobuf::MethodDescriptor& method = *service->method(i);
      const auto found = methods.find(method.name());
      ASSERT_NE(found, methods.end()) << method.full_name() << ": whom is it for?";
      if (found->second == For::kNoSession || found->second == For::kUnavailable) continue;
      if (found->second == For::kHttp) {
        EXPECT_EQ(Call(method).rfind(method.name() + ": from --http-uid alone", 0), 0u);
        continue;
      }
      if (found->second == For::kOperator) {
        EXPECT_EQ(Call(method).rfind("metrics count what all users do: they are for root, ", 0), 0u)
            << method.full_name();
        continue;
      }
      const std::string others =
          found->second == For::kAdmin ? ", for root, and for the admin group" : ", and for root";
      EXPECT_EQ(Call(method),
                "session_id \"" + session_ + "\": it is for its owner alone, uid 1000" + others)
          << method.full_name();
    }
  }
}

TEST_F(SessionAccessTest, ATokenFromAnotherConnectionThanHttpsIsRefusedByEveryMethod) {
  const std::string secret = world_.tokens().Create(1000, "", std::chrono::hours(1))->secret;
  ForEachMethod([&](const google::protobuf::MethodDescriptor& method, For whom) {
    if (whom == For::kUnavailable || whom == For::kHttp) return;
    const grpc::Status status = CallFor(method, "Bearer " + secret);
    EXPECT_EQ(status.error_code(), grpc::StatusCode::PERMISSION_DENIED) << method.full_name();
    EXPECT_EQ(status.error_message().rfind("authorization: only --http-uid", 0), 0u)
        << method.full_name() << ": " << status.error_message();
  });
}

// Calls in this process have no descriptor, so their uid is -1.
class TokenAccessTest : public SessionAccessTest {
 protected:
  TokenAccessTest() : SessionAccessTest(static_cast<uid_t>(-1)) {}

  token::NewToken Make(uid_t owner) {
    return *world_.tokens().Create(owner, "", std::chrono::hours(1));
  }
  grpc::Status Revoke(const std::string& id, const std::string& secret) {
    agent::v1::RevokeTokenRequest request;
    request.set_token_id(id);
    agent::v1::RevokeTokenResponse response;
    grpc::ClientContext context;
    context.AddMetadata("authorization", "Bearer " + secret);
    return agent::v1::TokenService::NewStub(channel_)->RevokeToken(&context, request, &response);
  }
  static const google::protobuf::MethodDescriptor& Method(const std::string& name) {
    return *google::protobuf::DescriptorPool::generated_pool()->FindMethodByName(
        "odyssey.agent.v1." + name);
  }
};

TEST_F(TokenAccessTest, WithoutAValidTokenEveryMethodRefusesHttp) {
  const token::NewToken revoked = Make(1000), expired = Make(1000);
  ASSERT_TRUE(world_.tokens().Revoke(revoked.token.id, std::nullopt).ok());
  world_.clock().Advance(std::chrono::hours(1));
  const token::NewToken locked_out = Make(1001), valid = Make(1000);
  world_.LockOut(1001);
  ForEachMethod([&](const google::protobuf::MethodDescriptor& method, For whom) {
    if (whom == For::kUnavailable || whom == For::kHttp) return;
    for (const std::string& authorization :
         {std::string(), "Bearer " + revoked.secret, "Bearer " + expired.secret,
          "Bearer " + locked_out.secret, "Basic " + valid.secret, valid.secret,
          std::string("Bearer ")}) {
      EXPECT_EQ(CallFor(method, authorization).error_code(), grpc::StatusCode::UNAUTHENTICATED)
          << method.full_name() << " with '" << authorization << "'";
    }
  });
}

TEST_F(TokenAccessTest, ACallIsOfTheTokensUser) {
  const std::string owner = "Bearer " + Make(1000).secret, other = "Bearer " + Make(1001).secret;
  EXPECT_EQ(Call(Method("SessionService.GetSession"), owner), "");
  EXPECT_EQ(Call(Method("SessionService.GetSession"), other),
            "session_id \"" + session_ +
                "\": it is for its owner alone, uid 1000, for root, and for the admin group");
}

TEST_F(TokenAccessTest, ATokenMakesAndRemovesNoOther) {
  const token::NewToken made = Make(1000);
  for (const char* name : {"CreateToken", "ListTokens", "CreateLink"}) {
    EXPECT_EQ(
        CallFor(Method("TokenService." + std::string(name)), "Bearer " + made.secret).error_code(),
        grpc::StatusCode::PERMISSION_DENIED)
        << name;
  }
  const token::NewToken other = Make(1000);
  EXPECT_EQ(Revoke(other.token.id, made.secret).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(world_.tokens().List(std::nullopt).size(), 2u);
}

TEST_F(TokenAccessTest, ATokenRemovesItself) {
  const token::NewToken one = Make(1000), other = Make(1000);
  EXPECT_TRUE(Revoke(one.token.id, one.secret).ok());
  EXPECT_TRUE(Revoke("", other.secret).ok());
  EXPECT_TRUE(world_.tokens().List(std::nullopt).empty());
}

TEST_F(TokenAccessTest, StreamsEndWithTheirToken) {
  const token::NewToken made = Make(1000);
  const auto sessions = agent::v1::SessionService::NewStub(channel_);
  const auto approvals = agent::v1::ApprovalService::NewStub(channel_);
  grpc::ClientContext events_context, watch_context;
  events_context.AddMetadata("authorization", "Bearer " + made.secret);
  watch_context.AddMetadata("authorization", "Bearer " + made.secret);
  agent::v1::SubscribeRequest subscribe;
  subscribe.set_session_id(session_);
  subscribe.set_follow(true);
  const auto events = sessions->Subscribe(&events_context, subscribe);
  const auto watch = approvals->WatchApprovals(&watch_context, {});
  agent::v1::Event event;
  ASSERT_TRUE(events->Read(&event));
  agent::v1::Approval approval;
  ASSERT_TRUE(watch->Read(&approval));
  ASSERT_TRUE(world_.tokens().Revoke(made.token.id, std::nullopt).ok());
  while (events->Read(&event)) {
  }
  while (watch->Read(&approval)) {
  }
  EXPECT_EQ(events->Finish().error_code(), grpc::StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(watch->Finish().error_code(), grpc::StatusCode::UNAUTHENTICATED);
}

}  // namespace
}  // namespace odyssey::service
