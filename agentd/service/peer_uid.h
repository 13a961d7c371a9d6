#ifndef ODYSSEY_AGENTD_SERVICE_PEER_UID_H_
#define ODYSSEY_AGENTD_SERVICE_PEER_UID_H_

#include <sys/types.h>

#include <string>

namespace odyssey::service {

// The uid at the other end of a call, from what gRPC calls its peer ("fd:7"): for the record of who
// approved, and whose session it is. To decide by it, look afterwards whether the call was
// cancelled: a descriptor's number may be used again while a call of a closed connection still
// runs. (uid_t)-1 if it cannot be told.
uid_t PeerUid(const std::string& peer);

}  // namespace odyssey::service

#endif  // ODYSSEY_AGENTD_SERVICE_PEER_UID_H_
