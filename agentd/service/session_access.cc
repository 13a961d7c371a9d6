#include "agentd/service/session_access.h"

#include <optional>

#include "common/base/refusal.h"
#include "common/rpc/peer_uid.h"

namespace odyssey::service {
namespace {

// The group first: after that the connection is looked at, as CallerOf has it.
Result<Peer> Identify(const session::Sessions& sessions, const grpc::ServerContextBase& call) {
  const std::optional<gid_t>& group = sessions.runtime().admin_group;
  const bool in_group = group && rpc::PeerHasGroup(call.peer(), *group);
  ODY_ASSIGN_OR_RETURN(const uid_t uid, CallerOf(call));
  return Peer{uid, in_group && uid != 0};
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

Result<uid_t> CallerOf(const grpc::ServerContextBase& call) {
  const uid_t caller = rpc::PeerUid(call.peer());
  if (call.IsCancelled()) return Cancelled("the client has gone");
  return caller;
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
  ODY_ASSIGN_OR_RETURN(const uid_t caller, CallerOf(call));
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
  ODY_ASSIGN_OR_RETURN(const uid_t caller, CallerOf(call));
  if (caller == record->owner_uid) return OkStatus();
  return PermissionDenied(what + ": from the session's owner alone, uid " +
                          std::to_string(record->owner_uid) + ", not from uid " +
                          std::to_string(caller));
}

}  // namespace odyssey::service
