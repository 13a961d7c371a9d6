#ifndef ODYSSEY_AGENTD_SERVICE_SESSION_SERVICE_H_
#define ODYSSEY_AGENTD_SERVICE_SESSION_SERVICE_H_

#include <memory>

#include "agentd/service/prepared_execs.h"
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
  grpc::Status RevokeGrant(grpc::ServerContext*, const agent::v1::RevokeGrantRequest*,
                           agent::v1::RevokeGrantResponse*) override;
  grpc::Status GetTurn(grpc::ServerContext*, const agent::v1::GetTurnRequest*,
                       agent::v1::GetTurnResponse*) override;
  grpc::Status ListTurns(grpc::ServerContext*, const agent::v1::ListTurnsRequest*,
                         grpc::ServerWriter<agent::v1::ListTurnsResponse>*) override;
  grpc::Status CancelTurn(grpc::ServerContext*, const agent::v1::CancelTurnRequest*,
                          agent::v1::CancelTurnResponse*) override;
  grpc::Status ReadFile(grpc::ServerContext*, const agent::v1::ReadFileRequest*,
                        agent::v1::ReadFileResponse*) override;
  grpc::Status PrepareSessionExec(grpc::ServerContext*, const agent::v1::PrepareSessionExecRequest*,
                                  agent::v1::PrepareSessionExecResponse*) override;
  grpc::Status GetQuota(grpc::ServerContext*, const agent::v1::GetQuotaRequest*,
                        agent::v1::GetQuotaResponse*) override;
  grpc::Status ListJobs(grpc::ServerContext*, const agent::v1::ListJobsRequest*,
                        agent::v1::ListJobsResponse*) override;
  grpc::Status StopJob(grpc::ServerContext*, const agent::v1::StopJobRequest*,
                       agent::v1::StopJobResponse*) override;
  grpc::Status ExportSession(grpc::ServerContext*, const agent::v1::ExportSessionRequest*,
                             grpc::ServerWriter<agent::v1::ExportSessionResponse>*) override;
  grpc::Status ImportSession(grpc::ServerContext*,
                             grpc::ServerReader<agent::v1::ImportSessionRequest>*,
                             agent::v1::ImportSessionResponse*) override;
  grpc::Status CompactSession(grpc::ServerContext*, const agent::v1::CompactSessionRequest*,
                              agent::v1::CompactSessionResponse*) override;
  // Raw: an event goes out as the bytes that the journal made.
  grpc::ServerWriteReactor<grpc::ByteBuffer>* Subscribe(grpc::CallbackServerContext*,
                                                        const grpc::ByteBuffer*) override;
  grpc::ServerBidiReactor<supervisor::v1::ExecRequest, supervisor::v1::ExecResponse>* SessionExec(
      grpc::CallbackServerContext*) override;

 private:
  session::Sessions* const sessions_;
  PreparedExecs prepared_;
  const std::shared_ptr<supervisor::v1::Supervisor::Stub> supervisor_;
};

}  // namespace odyssey::service

#endif  // ODYSSEY_AGENTD_SERVICE_SESSION_SERVICE_H_
