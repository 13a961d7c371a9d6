#ifndef ODYSSEY_SUPERVISOR_EGRESS_WORKER_RELAY_H_
#define ODYSSEY_SUPERVISOR_EGRESS_WORKER_RELAY_H_

#include <chrono>
#include <memory>
#include <optional>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "supervisor/egress/limits/meter.h"
#include "supervisor/egress/worker/stream.h"

namespace odyssey::egress {

// Bytes from one socket to another, in both directions, by splice(2). Ends when both directions
// have ended, or with the first error, which the other side sees as a reset: also without a byte in
// `idle`, and beyond what `account` allows.
class Relay final : public std::enable_shared_from_this<Relay> {
 public:
  Relay(Tcp::socket client, Tcp::socket upstream, std::shared_ptr<Meter::Account> account,
        std::chrono::seconds idle);

  Tcp::socket& client() { return client_; }
  Tcp::socket& upstream() { return upstream_; }

  asio::awaitable<void> ToUpstream();
  asio::awaitable<void> ToClient();

  // false: what the client sent first is beyond a budget, and it has been reset.
  bool CountFirst(size_t bytes) { return Count(Direction::kUp, bytes); }

  // Ends it; both sides see a reset.
  void Reset();

  // Why it was ended by us.
  const std::optional<Excess>& excess() const { return excess_; }

 private:
  asio::awaitable<void> Copy(Tcp::socket* from, Tcp::socket* to, Direction direction);
  bool Count(Direction direction, size_t bytes);
  void End(Excess excess);

  Tcp::socket client_, upstream_;
  const std::shared_ptr<Meter::Account> account_;
  const std::chrono::seconds idle_time_;
  std::optional<Excess> excess_;
  IdleLimit idle_;
};

// Closes it; the peer sees a reset. (Destroying a socket of Asio sends none, whatever its linger.)
void Reset(Tcp::socket* socket);

}  // namespace odyssey::egress

#endif  // ODYSSEY_SUPERVISOR_EGRESS_WORKER_RELAY_H_
