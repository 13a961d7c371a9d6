#ifndef ODYSSEY_SUPERVISOR_EGRESS_BROKER_DIALER_H_
#define ODYSSEY_SUPERVISOR_EGRESS_BROKER_DIALER_H_

// Connects to addresses that were checked: directly, or through the operator's proxy, and then
// never directly.

#include <optional>
#include <string>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "common/base/status.h"
#include "common/os/unique_fd.h"

namespace odyssey::egress {

namespace asio = boost::asio;

struct UpstreamProxy {
  asio::ip::tcp::endpoint address;
  std::string authorization;  // value of Proxy-Authorization; "": none
};

// "192.0.2.1:3128", "[2001:db8::1]:3128". INVALID_ARGUMENT for anything else: a proxy's name would
// have to be looked up anew for each connection.
Result<asio::ip::tcp::endpoint> ParseProxyAddress(const std::string& text);

// The value for "USER:PASSWORD". INVALID_ARGUMENT if it is none.
Result<std::string> ProxyAuthorization(std::string user_and_password);

class Dialer final {
 public:
  Dialer(asio::io_context* loop, std::optional<UpstreamProxy> proxy)
      : loop_(loop), proxy_(std::move(proxy)) {}

  // DEADLINE_EXCEEDED after 10 s; UNAVAILABLE: it was refused, the proxy's answer included.
  asio::awaitable<Result<UniqueFd>> Connect(asio::ip::tcp::endpoint to) const;

 private:
  asio::awaitable<Status> AskProxy(asio::ip::tcp::socket* socket,
                                   const asio::ip::tcp::endpoint& to) const;

  asio::io_context* const loop_;
  const std::optional<UpstreamProxy> proxy_;
};

}  // namespace odyssey::egress

#endif  // ODYSSEY_SUPERVISOR_EGRESS_BROKER_DIALER_H_
