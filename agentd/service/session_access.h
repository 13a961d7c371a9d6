#ifndef ODYSSEY_AGENTD_SERVICE_SESSION_ACCESS_H_
#define ODYSSEY_AGENTD_SERVICE_SESSION_ACCESS_H_

#include <grpcpp/grpcpp.h>

#include <string>

#include "agentd/session/sessions.h"

namespace odyssey::service {

// Whose call it is. CANCELLED: of a connection that has ended meanwhile the descriptor may be
// another's by now.
Result<uid_t> CallerOf(const grpc::ServerContextBase& call);

// A session is its owner's, and root's, who is that user anyway: it has what the operator grants
// the owner, shows his files, and may act on the host as him.
bool IsFor(const session::SessionRecord& record, uid_t caller);
// NOT_FOUND, or PERMISSION_DENIED naming the owner.
Status CheckCaller(const session::Sessions& sessions, const std::string& session_id,
                   const grpc::ServerContextBase& call);

// For what is the owner's own alone, not even root's: `what` begins the message.
Status CheckOwner(const session::Sessions& sessions, const std::string& session_id,
                  const grpc::ServerContextBase& call, const std::string& what);

}  // namespace odyssey::service

#endif  // ODYSSEY_AGENTD_SERVICE_SESSION_ACCESS_H_
