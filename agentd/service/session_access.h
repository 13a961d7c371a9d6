#ifndef ODYSSEY_AGENTD_SERVICE_SESSION_ACCESS_H_
#define ODYSSEY_AGENTD_SERVICE_SESSION_ACCESS_H_

#include <grpcpp/grpcpp.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "agentd/session/sessions.h"

namespace odyssey::service {

// Whose call it is: the uid of the connection, or of the token that the operator's --http-uid has
// passed on (proto/odyssey/agent/v1/token.proto).
struct Caller {
  uid_t uid = 0;
  std::string token_id;  // empty: by the connection
};
// CANCELLED: of a connection that has ended meanwhile the descriptor may be another's by now.
// UNAUTHENTICATED: from --http-uid without a valid token. PERMISSION_DENIED: a token from another.
Result<Caller> CallerWithToken(const session::Runtime& runtime,
                               const grpc::ServerContextBase& call);
Result<uid_t> CallerOf(const session::Runtime& runtime, const grpc::ServerContextBase& call);
// For FollowReactor: watches the end of the token, if there is one.
std::function<std::shared_ptr<void>(std::function<void()> ended)> EndOf(
    const session::Runtime& runtime, const std::string& token_id);
// Refused with a token: for what makes further rights.
Result<uid_t> CallerOfConnection(const session::Runtime& runtime,
                                 const grpc::ServerContextBase& call);
// OK: the connection is of --http-uid.
Status CheckIsHttp(const session::Runtime& runtime, const grpc::ServerContextBase& call);

// The caller of a method about sessions of any owner.
struct Peer {
  uid_t uid = 0;
  bool is_admin = false;  // of the operator's admin group, and not root
  std::string token_id;   // as Caller
};
// As CallerOf. What an admin is shown of all sessions together, by `act`, is logged.
Result<Peer> PeerOf(const session::Sessions& sessions, const grpc::ServerContextBase& call,
                    std::string_view act);

// A session is its owner's, and root's, who is that user anyway: it has what the operator grants
// the owner, shows his files, and may act on the host as him. An admin sees it.
bool IsFor(const session::SessionRecord& record, const Peer& peer);
// NOT_FOUND, or PERMISSION_DENIED naming the owner. An admin is refused: for what acts as the
// owner.
Status CheckCaller(const session::Sessions& sessions, const std::string& session_id,
                   const grpc::ServerContextBase& call);
// The same, but for admins too, whose `act` (the method's name) is logged: for what reads a
// session, stops or removes something of it, or answers its questions (docs/OPERATIONS.md).
Status CheckCallerOrAdmin(const session::Sessions& sessions, const std::string& session_id,
                          const grpc::ServerContextBase& call, std::string_view act);

// For what is the owner's own alone, not even root's: `what` begins the message.
Status CheckOwner(const session::Sessions& sessions, const std::string& session_id,
                  const grpc::ServerContextBase& call, const std::string& what);

}  // namespace odyssey::service

#endif  // ODYSSEY_AGENTD_SERVICE_SESSION_ACCESS_H_
