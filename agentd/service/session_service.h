#ifndef ODYSSEY_AGENTD_SERVICE_SESSION_SERVICE_H_
#define ODYSSEY_AGENTD_SERVICE_SESSION_SERVICE_H_

#include <memory>

#include "agentd/session/sessions.h"
#include "odyssey/agent/v1/session.grpc.pb.h"
#include "odyssey/supervisor/v1/supervisor.grpc.pb.h"

namespace odyssey::service {

using SessionServiceBase = ::odyssey::agent::v1::SessionService::WithRawCallbackMethod_Subscribe<
    ::odyssey::agent::v1::SessionService::WithCallbackMethod_SessionExec<
        ::odyssey::agent::v1::SessionService::Service>>;

// session.proto over Sessions. `sessions` is borrowed; `supervisor` is where SessionExec goes.
class SessionService final : public SessionServiceBase {
 public:
  SessionService(session::Sessions* sessions, std::shared_ptr<grpc::Channel> supervisor);

  grpc::Status GetInfo(grpc::ServerContext*, const agent::v1::GetInfoRequest*,
                       agent::v1::GetInfoResponse*) override;
  grpc::Status CreateSession(grpc::ServerContext*, const agent::v1::CreateSessionRequest*,
                             agent::v1::CreateSessionResponse*) override;
  grpc::Status ListSessions(grpc::ServerContext*, const agent::v1::ListSessionsRequest*,
                            agent::v1::ListSessionsResponse*) override;
  grpc::Status GetSession(grpc::ServerContext*, const agent::v1::GetSessionRequest*,
                          agent::v1::GetSessionResponse*) override;
  grpc::Status DeleteSession(grpc::ServerContext*, const agent::v1::DeleteSessionRequest*,
                             agent::v1::DeleteSessionResponse*) override;
  grpc::Status ForkSession(grpc::ServerContext*, const agent::v1::ForkSessionRequest*,
                           agent::v1::ForkSessionResponse*) override;
  grpc::Status ListTools(grpc::ServerContext*, const agent::v1::ListToolsRequest*,
                         agent::v1::ListToolsResponse*) override;
  grpc::Status SubmitTurn(grpc::ServerContext*, const agent::v1::SubmitTurnRequest*,
                          agent::v1::SubmitTurnResponse*) override;
  grpc::Status GetTurn(grpc::ServerContext*, const agent::v1::GetTurnRequest*,
                       agent::v1::GetTurnResponse*) override;
  grpc::Status CancelTurn(grpc::ServerContext*, const agent::v1::CancelTurnRequest*,
                          agent::v1::CancelTurnResponse*) override;
  grpc::Status ReadFile(grpc::ServerContext*, const agent::v1::ReadFileRequest*,
                        agent::v1::ReadFileResponse*) override;
  // Raw: an event goes out as the bytes that the journal made.
  grpc::ServerWriteReactor<grpc::ByteBuffer>* Subscribe(grpc::CallbackServerContext*,
                                                        const grpc::ByteBuffer*) override;
  grpc::ServerBidiReactor<supervisor::v1::ExecRequest, supervisor::v1::ExecResponse>* SessionExec(
      grpc::CallbackServerContext*) override;

 private:
  session::Sessions* const sessions_;
  const std::shared_ptr<supervisor::v1::Supervisor::Stub> supervisor_;
};

}  // namespace odyssey::service

#endif  // ODYSSEY_AGENTD_SERVICE_SESSION_SERVICE_H_
