#ifndef ODYSSEY_COMMON_RPC_PEER_GROUPS_H_
#define ODYSSEY_COMMON_RPC_PEER_GROUPS_H_

#include <sys/types.h>

namespace odyssey::rpc {

// Whether the peer of a connected Unix socket had the group when it connected: as its effective gid
// (SO_PEERCRED) or as a supplementary one (SO_PEERGROUPS). The user database is not asked. False if
// the kernel does not say.
bool PeerHasGroup(int fd, gid_t group);

// Whether the system's databases of users and groups give the user that group now. False if it has
// no user.
bool UserHasGroup(uid_t uid, gid_t group);

}  // namespace odyssey::rpc

#endif  // ODYSSEY_COMMON_RPC_PEER_GROUPS_H_
