#ifndef ODYSSEY_COMMON_RPC_PEER_LISTENER_H_
#define ODYSSEY_COMMON_RPC_PEER_LISTENER_H_

// Accepts connections on a Unix socket itself, so that the peer's credentials are checked before
// gRPC sees a byte: gRPC 1.51 tells a handler nothing about a Unix peer. A refused peer gets one
// line (peer_refusal.h), is closed at once, and its calls fail with UNAVAILABLE.

#include <grpcpp/server.h>
#include <sys/types.h>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>

#include "common/os/unique_fd.h"

namespace odyssey::rpc {

class PeerListener final {
 public:
  // Who may connect: a peer with one of the uids or groups.
  struct Allowed {
    std::set<uid_t> uids;
    std::set<gid_t> groups;
  };
  // `server` must outlive the listener.
  PeerListener(UniqueFd listener, grpc::Server* server, Allowed allowed);
  // Stops accepting; established connections are the server's.
  ~PeerListener();

  PeerListener(const PeerListener&) = delete;
  PeerListener& operator=(const PeerListener&) = delete;

  // Of connections from now on.
  void Allow(Allowed allowed);

  uint64_t refused() const { return refused_; }

 private:
  void AcceptLoop() noexcept;
  // "": the peer is served. Else what it is told.
  std::string RefusalOf(int peer);

  UniqueFd listener_;
  UniqueFd stop_;  // eventfd
  grpc::Server* const server_;
  std::mutex mutex_;
  Allowed allowed_;  // guarded by mutex_
  std::atomic<uint64_t> refused_ = 0;
  std::thread thread_;
};

}  // namespace odyssey::rpc

#endif  // ODYSSEY_COMMON_RPC_PEER_LISTENER_H_
