#include "agentd/service/session_access.h"

#include <unistd.h>

#include <optional>
#include <utility>

#include "common/base/refusal.h"
#include "common/rpc/peer_groups.h"
#include "common/rpc/peer_uid.h"

namespace odyssey::service {
namespace {

constexpr char kAuthorization[] = "authorization";
constexpr std::string_view kBearer = "Bearer ";

std::optional<std::string_view> AuthorizationOf(const grpc::ServerContextBase& call) {
  const auto found = call.client_metadata().find(kAuthorization);
  if (found == call.client_metadata().end()) return std::nullopt;
  return std::string_view(found->second.data(), found->second.size());
}

Result<uid_t> PeerUidOf(const grpc::ServerContextBase& call) {
  const uid_t peer = rpc::PeerUid(call.peer());
  if (call.IsCancelled()) return Cancelled("the client has gone");
  return peer;
}

Status Unauthenticated(std::string message) { return {Code::kUnauthenticated, std::move(message)}; }

// Of a connection the groups of its process count, of a token those that the system's databases
// give its user now. The group first: after that the connection is looked at, as CallerOf has it.
Result<Peer> Identify(const session::Sessions& sessions, const grpc::ServerContextBase& call) {
  const std::optional<gid_t>& group = sessions.runtime().admin_group;
  const bool peer_in_group = group && rpc::PeerHasGroup(call.peer(), *group);
  ODY_ASSIGN_OR_RETURN(const Caller caller, CallerWithToken(sessions.runtime(), call));
  const bool in_group =
      caller.token_id.empty() ? peer_in_group : group && rpc::UserHasGroup(caller.uid, *group);
  return Peer{caller.uid, in_group && caller.uid != 0, caller.token_id};
}

void Log(const session::Sessions& sessions, std::string_view act, const std::string& session_id,
         const Peer& peer) {
  const auto& on_admin = sessions.runtime().on_admin;
  if (on_admin) on_admin(act, session_id, peer.uid);
}

Status Refuse(const session::SessionRecord& record, const std::string& others) {
  return AboutField("session_id", PermissionDenied("session_id \"" + record.id +
                                                   "\": it is for its owner alone, uid " +
                                                   std::to_string(record.owner_uid) + others));
}

}  // namespace

Result<Caller> CallerWithToken(const session::Runtime& runtime,
                               const grpc::ServerContextBase& call) {
  ODY_ASSIGN_OR_RETURN(const uid_t peer, PeerUidOf(call));
  const std::optional<std::string_view> authorization = AuthorizationOf(call);
  if (!runtime.http_uid || peer != *runtime.http_uid) {
    if (!authorization) return Caller{peer, ""};
    return PermissionDenied("authorization: only --http-uid passes tokens on, not uid " +
                            std::to_string(peer) + "; without it the call is that uid's own");
  }
  // Where all daemons are of one uid, the connections of its other programs are its own.
  if (!authorization && peer == getuid()) return Caller{peer, ""};
  if (!authorization || authorization->substr(0, kBearer.size()) != kBearer) {
    return Unauthenticated("authorization: a call of uid " + std::to_string(peer) +
                           " needs a token, as \"Bearer TOKEN\"");
  }
  ODY_ASSIGN_OR_RETURN(const token::Token token,
                       runtime.tokens->Verify(authorization->substr(kBearer.size())));
  if (!runtime.may_connect || !runtime.may_connect(token.owner)) {
    return Unauthenticated("token " + token.id + ": its uid " + std::to_string(token.owner) +
                           " may not use this agentd any more");
  }
  return Caller{token.owner, token.id};
}

Result<uid_t> CallerOf(const session::Runtime& runtime, const grpc::ServerContextBase& call) {
  ODY_ASSIGN_OR_RETURN(const Caller caller, CallerWithToken(runtime, call));
  return caller.uid;
}

std::function<std::shared_ptr<void>(std::function<void()>)> EndOf(const session::Runtime& runtime,
                                                                  const std::string& token_id) {
  return [tokens = runtime.tokens, token_id](std::function<void()> ended) -> std::shared_ptr<void> {
    if (token_id.empty()) return nullptr;
    return tokens->WatchEnd(token_id, std::move(ended));
  };
}

Result<uid_t> CallerOfConnection(const session::Runtime& runtime,
                                 const grpc::ServerContextBase& call) {
  ODY_ASSIGN_OR_RETURN(const Caller caller, CallerWithToken(runtime, call));
  if (caller.token_id.empty()) return caller.uid;
  return PermissionDenied("token " + caller.token_id +
                          ": tokens are made, listed and removed on this host, by odyssey-ctl");
}

Status CheckIsHttp(const session::Runtime& runtime, const grpc::ServerContextBase& call) {
  ODY_ASSIGN_OR_RETURN(const uid_t peer, PeerUidOf(call));
  if (runtime.http_uid && peer == *runtime.http_uid) return OkStatus();
  return PermissionDenied("ExchangeLink: from --http-uid alone, not from uid " +
                          std::to_string(peer));
}

Result<Peer> PeerOf(const session::Sessions& sessions, const grpc::ServerContextBase& call,
                    std::string_view act) {
  ODY_ASSIGN_OR_RETURN(const Peer peer, Identify(sessions, call));
  if (peer.is_admin) Log(sessions, act, "*", peer);
  return peer;
}

bool IsFor(const session::SessionRecord& record, const Peer& peer) {
  return peer.uid == 0 || peer.uid == record.owner_uid || peer.is_admin;
}

Status CheckCaller(const session::Sessions& sessions, const std::string& session_id,
                   const grpc::ServerContextBase& call) {
  ODY_ASSIGN_OR_RETURN(const session::SessionPtr record,
                       sessions.runtime().store->GetWithoutTurns(session_id));
  ODY_ASSIGN_OR_RETURN(const uid_t caller, CallerOf(sessions.runtime(), call));
  return IsFor(*record, {caller}) ? OkStatus() : Refuse(*record, ", and for root");
}

Status CheckCallerOrAdmin(const session::Sessions& sessions, const std::string& session_id,
                          const grpc::ServerContextBase& call, std::string_view act) {
  ODY_ASSIGN_OR_RETURN(const session::SessionPtr record,
                       sessions.runtime().store->GetWithoutTurns(session_id));
  ODY_ASSIGN_OR_RETURN(const Peer peer, Identify(sessions, call));
  if (!IsFor(*record, peer)) return Refuse(*record, ", for root, and for the admin group");
  if (!IsFor(*record, {peer.uid})) Log(sessions, act, session_id, peer);
  return OkStatus();
}

Status CheckOwner(const session::Sessions& sessions, const std::string& session_id,
                  const grpc::ServerContextBase& call, const std::string& what) {
  ODY_ASSIGN_OR_RETURN(const session::SessionPtr record, sessions.Get(session_id));
  ODY_ASSIGN_OR_RETURN(const uid_t caller, CallerOf(sessions.runtime(), call));
  if (caller == record->owner_uid) return OkStatus();
  return PermissionDenied(what + ": from the session's owner alone, uid " +
                          std::to_string(record->owner_uid) + ", not from uid " +
                          std::to_string(caller));
}

}  // namespace odyssey::service
