#ifndef ODYSSEY_AGENTD_SERVICE_SESSION_ACCESS_H_
#define ODYSSEY_AGENTD_SERVICE_SESSION_ACCESS_H_

#include <grpcpp/grpcpp.h>

#include <string>

#include "agentd/session/sessions.h"

namespace odyssey::service {

// Whose call it is. CANCELLED: of a connection that has ended meanwhile the descriptor may be
// another's by now.
Result<uid_t> CallerOf(const grpc::ServerContextBase& call);

// Every client of agentd may use every session, but one with danger_full_access: it acts on the
// host as its owner, so nobody else may make it act or read files through it, save root, who is
// that user anyway. NOT_FOUND, or PERMISSION_DENIED naming the owner.
Status CheckCaller(const session::Sessions& sessions, const std::string& session_id,
                   const grpc::ServerContextBase& call);

// For what is the owner's own alone, not even root's: `what` begins the message.
Status CheckOwner(const session::Sessions& sessions, const std::string& session_id,
                  const grpc::ServerContextBase& call, const std::string& what);

}  // namespace odyssey::service

#endif  // ODYSSEY_AGENTD_SERVICE_SESSION_ACCESS_H_
