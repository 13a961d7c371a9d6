#ifndef ODYSSEY_COMMON_RPC_PEER_REFUSAL_H_
#define ODYSSEY_COMMON_RPC_PEER_REFUSAL_H_

// What a daemon sends to a peer that it does not serve before it closes the connection: HTTP/2's
// GOAWAY, so that a client's library reports UNAVAILABLE, with one line of text as its debug data,
// which a client can ask for when its calls fail.

#include <sys/types.h>

#include <set>
#include <string>

namespace odyssey::rpc {

// "refused: this socket serves uids 0 and 998; the peer has uid 1000\n". With groups whose
// members are served: "… uids 0 and 998 and groups 27 and 30; …".
std::string RefusalLine(const std::set<uid_t>& served, const std::set<gid_t>& groups, uid_t peer);

// GOAWAY with the line. No SETTINGS comes before it, so no client takes the connection for one that
// is served.
std::string RefusalFrame(const std::string& line);

// Connects, and waits a moment for that line; it comes back without "refused: " and the line feed.
// "": the daemon serves this process, or does not say.
std::string AskWhetherRefused(const std::string& socket_path);

}  // namespace odyssey::rpc

#endif  // ODYSSEY_COMMON_RPC_PEER_REFUSAL_H_
