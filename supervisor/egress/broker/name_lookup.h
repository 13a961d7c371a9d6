#ifndef ODYSSEY_SUPERVISOR_EGRESS_BROKER_NAME_LOOKUP_H_
#define ODYSSEY_SUPERVISOR_EGRESS_BROKER_NAME_LOOKUP_H_

// Names to addresses, by the host's configuration (/etc/hosts, /etc/resolv.conf). For the loop's
// thread alone.

#include <ares.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>

#include "common/base/status.h"

namespace odyssey::egress {

namespace asio = boost::asio;
using Addresses = std::vector<asio::ip::address>;

class NameLookup final {
 public:
  static Result<std::unique_ptr<NameLookup>> Make(asio::io_context* loop);
  NameLookup(const NameLookup&) = delete;
  NameLookup& operator=(const NameLookup&) = delete;
  ~NameLookup();

  // Every address of the name, IPv4 and IPv6; at least one. UNAVAILABLE: there is none, or no name
  // server answered, and why.
  asio::awaitable<Result<Addresses>> Find(const std::string& name);

 private:
  explicit NameLookup(asio::io_context* loop) : loop_(loop), timer_(*loop) {}
  void Watch(ares_socket_t socket, bool read, bool write);
  void WaitFor(ares_socket_t socket, asio::posix::stream_descriptor::wait_type what);
  void SetTimer();

  struct Watched {
    std::shared_ptr<asio::posix::stream_descriptor> descriptor;  // released, not closed
    bool read = false;
    bool write = false;
  };

  asio::io_context* const loop_;
  asio::steady_timer timer_;
  ares_channel channel_ = nullptr;
  std::map<ares_socket_t, Watched> watched_;
};

}  // namespace odyssey::egress

#endif  // ODYSSEY_SUPERVISOR_EGRESS_BROKER_NAME_LOOKUP_H_
