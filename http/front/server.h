#ifndef ODYSSEY_HTTP_FRONT_SERVER_H_
#define ODYSSEY_HTTP_FRONT_SERVER_H_

// Listens, and serves on the calling thread. No TLS: a proxy ends that.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "common/base/status.h"
#include "common/os/unique_fd.h"
#include "http/front/connection.h"
#include "http/front/mcp_host.h"

namespace odyssey::front {

struct Address {
  std::string ip;
  uint16_t port = 0;
  bool is_loopback = false;
};
// "ADDRESS:PORT", "[ADDRESS]:PORT", in numbers. INVALID_ARGUMENT. Pure.
Result<Address> ParseAddress(const std::string& text);
// A listening socket. Errors name the address.
Result<UniqueFd> Listen(const Address& address);
// Of a listening socket of IPv4 or IPv6. INVALID_ARGUMENT: it is none.
Result<Address> AddressOf(int listener);
// "127.0.0.1:8472", "[::1]:8472".
std::string AddressText(const Address& address);

class Server final {
 public:
  struct Options {
    std::string agentd_socket;
    std::set<std::string> names;  // of Host
    Limits limits = {};
    std::string version;     // of the program
    std::string mcp_bundle;  // of /mcp; empty: it is refused
    McpLimits mcp_limits = {};
    // What /mcp serves in place of the tools of odyssey-agentd's sessions.
    std::unique_ptr<mcp::Service> mcp_service = nullptr;
    std::chrono::microseconds alive_period{0};  // 0: never
    std::function<void()> alive = {};
  };
  Server(UniqueFd listener, Options options);
  ~Server();

  // Until SIGINT or SIGTERM.
  void Run();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace odyssey::front

#endif  // ODYSSEY_HTTP_FRONT_SERVER_H_
