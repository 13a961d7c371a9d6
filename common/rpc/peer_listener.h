#ifndef ODYSSEY_COMMON_RPC_PEER_LISTENER_H_
#define ODYSSEY_COMMON_RPC_PEER_LISTENER_H_

// Accepts connections on a Unix socket itself, so that the peer's credentials are checked before
// gRPC sees a byte: gRPC 1.51 tells a handler nothing about a Unix peer. A refused peer gets one
// line (peer_refusal.h), is closed at once, and its calls fail with UNAVAILABLE.

#include <grpcpp/server.h>
#include <sys/types.h>

#include <atomic>
#include <optional>
#include <set>
#include <thread>

#include "common/os/unique_fd.h"

namespace odyssey::rpc {

class PeerListener final {
 public:
  // `server` must outlive the listener. `allowed` are the uids that may connect, and `group` that
  // of others who may.
  PeerListener(UniqueFd listener, grpc::Server* server, std::set<uid_t> allowed,
               std::optional<gid_t> group = std::nullopt);
  // Stops accepting; established connections are the server's.
  ~PeerListener();

  PeerListener(const PeerListener&) = delete;
  PeerListener& operator=(const PeerListener&) = delete;

  uint64_t refused() const { return refused_; }

 private:
  void AcceptLoop() noexcept;

  UniqueFd listener_;
  UniqueFd stop_;  // eventfd
  grpc::Server* const server_;
  const std::set<uid_t> allowed_;
  const std::optional<gid_t> group_;
  std::atomic<uint64_t> refused_ = 0;
  std::thread thread_;
};

}  // namespace odyssey::rpc

#endif  // ODYSSEY_COMMON_RPC_PEER_LISTENER_H_
