#ifndef ODYSSEY_AGENTD_SERVICE_SESSION_EXEC_H_
#define ODYSSEY_AGENTD_SERVICE_SESSION_EXEC_H_

#include <grpcpp/grpcpp.h>

#include <memory>

#include "agentd/service/prepared_execs.h"
#include "agentd/session/sessions.h"
#include "odyssey/supervisor/v1/supervisor.grpc.pb.h"

namespace odyssey::service {

// SessionExec: waits for the session's queue, then carries messages between the client and the
// supervisor's Exec, one at a time each way, so that a slow side slows the other. The reactor owns
// itself until gRPC is done with it.
grpc::ServerBidiReactor<supervisor::v1::ExecRequest, supervisor::v1::ExecResponse>*
StartSessionExec(session::Sessions* sessions, PreparedExecs* prepared,
                 std::shared_ptr<supervisor::v1::Supervisor::Stub> supervisor,
                 const grpc::CallbackServerContext* call);

}  // namespace odyssey::service

#endif  // ODYSSEY_AGENTD_SERVICE_SESSION_EXEC_H_
