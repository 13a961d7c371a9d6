#ifndef ODYSSEY_COMMON_RPC_PEER_UID_H_
#define ODYSSEY_COMMON_RPC_PEER_UID_H_

#include <sys/types.h>

#include <string>

namespace odyssey::rpc {

// The uid at the other end of a call, from what gRPC calls its peer ("fd:7"): for the record of who
// approved, and whose session it is. To decide by it, look afterwards whether the call was
// cancelled: a descriptor's number may be used again while a call of a closed connection still
// runs. (uid_t)-1 if it cannot be told.
uid_t PeerUid(const std::string& peer);

// Whether that peer had the group when it connected. False if it cannot be told.
bool PeerHasGroup(const std::string& peer, gid_t group);

}  // namespace odyssey::rpc

#endif  // ODYSSEY_COMMON_RPC_PEER_UID_H_
