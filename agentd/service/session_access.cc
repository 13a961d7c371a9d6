#include "agentd/service/session_access.h"

#include "agentd/service/peer_uid.h"
#include "common/base/refusal.h"

namespace odyssey::service {

Result<uid_t> CallerOf(const grpc::ServerContextBase& call) {
  const uid_t caller = PeerUid(call.peer());
  if (call.IsCancelled()) return Cancelled("the client has gone");
  return caller;
}

bool IsFor(const session::SessionRecord& record, uid_t caller) {
  return caller == 0 || caller == record.owner_uid;
}

Status CheckCaller(const session::Sessions& sessions, const std::string& session_id,
                   const grpc::ServerContextBase& call) {
  ODY_ASSIGN_OR_RETURN(const session::SessionPtr record,
                       sessions.runtime().store->GetWithoutTurns(session_id));
  ODY_ASSIGN_OR_RETURN(const uid_t caller, CallerOf(call));
  if (IsFor(*record, caller)) return OkStatus();
  return AboutField(
      "session_id",
      PermissionDenied("session_id \"" + session_id + "\": it is for its owner alone, uid " +
                       std::to_string(record->owner_uid) + ", and for root"));
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
