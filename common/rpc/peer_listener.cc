#include "common/rpc/peer_listener.h"

#include <errno.h>
#include <grpcpp/server_posix.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "common/base/status.h"
#include "common/rpc/peer_groups.h"
#include "common/rpc/peer_refusal.h"

namespace odyssey::rpc {
namespace {

// How long accepting rests when the process has no descriptor left.
constexpr int kExhaustedPauseMs = 50;

}  // namespace

PeerListener::PeerListener(UniqueFd listener, grpc::Server* server, Allowed allowed)
    : listener_(std::move(listener)),
      stop_(eventfd(0, EFD_CLOEXEC)),
      server_(server),
      allowed_(std::move(allowed)),
      thread_([this] { AcceptLoop(); }) {}

PeerListener::~PeerListener() {
  const uint64_t one = 1;
  ODY_CHECK(write(stop_.get(), &one, sizeof(one)) == sizeof(one));
  thread_.join();
}

void PeerListener::Allow(Allowed allowed) {
  const std::lock_guard lock(mutex_);
  allowed_ = std::move(allowed);
}

std::string PeerListener::RefusalOf(int peer) {
  ucred credentials{};
  socklen_t size = sizeof(credentials);
  if (getsockopt(peer, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return "\n";
  const std::lock_guard lock(mutex_);
  const auto& [uids, groups] = allowed_;
  if (uids.count(credentials.uid) != 0) return "";
  const bool in_group = std::any_of(groups.begin(), groups.end(),
                                    [&](gid_t group) { return PeerHasGroup(peer, group); });
  return in_group ? "" : RefusalLine(uids, groups, credentials.uid);
}

void PeerListener::AcceptLoop() noexcept {
  pollfd polled[] = {{listener_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
  for (;;) {
    if (poll(polled, 2, -1) < 0 && errno != EINTR) return;
    if (polled[1].revents != 0) return;
    UniqueFd peer(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!peer) {
      // Out of descriptors: the backlog stays readable, so wait for a stop or a little time.
      if (errno == EMFILE || errno == ENFILE) poll(&polled[1], 1, kExhaustedPauseMs);
      continue;
    }

    const std::string refusal = RefusalOf(peer.get());
    if (!refusal.empty()) {
      ++refused_;
      // A peer that does not read the line still reads the end of the connection.
      const std::string frame = RefusalFrame(refusal);
      (void)send(peer.get(), frame.data(), frame.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      continue;
    }
    grpc::AddInsecureChannelFromFd(server_, peer.release());
  }
}

}  // namespace odyssey::rpc
