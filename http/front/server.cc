#include "http/front/server.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <boost/asio.hpp>
#include <charconv>
#include <optional>
#include <utility>

#include "mcp/agent/agent_service.h"

namespace odyssey::front {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using Error = boost::system::error_code;

constexpr std::chrono::milliseconds kExhaustedPause{100};
constexpr rlim_t kReservedFiles = 32;
constexpr std::chrono::seconds kRemoveWithin{5};
constexpr char kBusy[] =
    "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nConnection: close\r\n"
    "Retry-After: 1\r\n\r\n"
    "{\"error\":{\"code\":\"UNAVAILABLE\",\"message\":\"odyssey-http: it has as many connections "
    "as it takes; close some\"}}\n";

}  // namespace

Result<Address> ParseAddress(const std::string& text) {
  const size_t colon = text.rfind(':');
  std::string ip = text.substr(0, std::min(colon, text.size()));
  if (ip.size() > 2 && ip.front() == '[' && ip.back() == ']') {
    ip = ip.substr(1, ip.size() - 2);
  } else if (ip.find(':') != std::string::npos) {
    ip.clear();
  }
  Error error;
  const asio::ip::address parsed = asio::ip::make_address(ip, error);
  Address out = {ip, 0, !error && parsed.is_loopback()};
  const char* const end = text.data() + text.size();
  const char* const begin = colon == std::string::npos ? end : text.data() + colon + 1;
  const auto port = std::from_chars(begin, end, out.port);
  if (error || port.ec != std::errc() || port.ptr != end) {
    return InvalidArgument("\"" + text + "\": must be ADDRESS:PORT, in numbers");
  }
  return out;
}

std::string AddressText(const Address& address) {
  const bool is_v6 = address.ip.find(':') != std::string::npos;
  return (is_v6 ? "[" + address.ip + "]" : address.ip) + ":" + std::to_string(address.port);
}

Result<UniqueFd> Listen(const Address& address) {
  asio::io_context unused;
  tcp::acceptor acceptor(unused);
  const tcp::endpoint endpoint(asio::ip::make_address(address.ip), address.port);
  Error error;
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) return ErrnoStatus(error.value(), "listen on " + AddressText(address));
  return UniqueFd(acceptor.release());
}

Result<Address> AddressOf(int listener) {
  tcp::endpoint endpoint;
  socklen_t size = static_cast<socklen_t>(endpoint.capacity());
  int listens = 0;
  socklen_t listens_size = sizeof(listens);
  if (getsockname(listener, endpoint.data(), &size) != 0 ||
      getsockopt(listener, SOL_SOCKET, SO_ACCEPTCONN, &listens, &listens_size) != 0) {
    return ErrnoStatus(errno, "use the listening socket");
  }
  const int family = endpoint.data()->sa_family;
  if (listens == 0 || (family != AF_INET && family != AF_INET6)) {
    return InvalidArgument("the socket that was inherited listens on no address of IP");
  }
  return Address{endpoint.address().to_string(), endpoint.port(), endpoint.address().is_loopback()};
}

class Server::Impl {
 public:
  Impl(UniqueFd listener, Options options)
      : options_(std::move(options)), signals_(loop_, SIGINT, SIGTERM) {
    const Result<Address> address = AddressOf(listener.get());
    ODY_CHECK(address.ok());
    const bool is_v6 = address->ip.find(':') != std::string::npos;
    acceptor_.assign(is_v6 ? tcp::v6() : tcp::v4(), listener.release());
    shared_.backend.loop = &loop_;
    shared_.backend.link = &link_.emplace(&loop_, options_.agentd_socket);
    shared_.limits = options_.limits;
    // Some are for the connection to agentd, and for what accepts and refuses.
    rlimit files{};
    if (getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur > kReservedFiles) {
      shared_.limits.connections =
          std::min<size_t>(shared_.limits.connections, files.rlim_cur - kReservedFiles);
    }
    shared_.names = options_.names;
    service_ = std::move(options_.mcp_service);
    if (!service_) {
      service_ =
          std::make_unique<mcp::AgentService>(mcp::AgentOptions{.loop = &loop_,
                                                                .link = &*link_,
                                                                .version = options_.version,
                                                                .create = mcp::CreateSession,
                                                                .decide = mcp::DenyWithoutAsking});
    }
    shared_.backend.mcp =
        &mcp_.emplace(&loop_, service_.get(), options_.mcp_bundle, options_.mcp_limits);
  }

  void Run() {
    signals_.async_wait([this](Error error, int) {
      if (!error) Stop();
    });
    Accept();
    StayAlive();
    loop_.run();
  }

 private:
  void Stop() {
    stopping_ = true;
    Error ignored;
    acceptor_.close(ignored);
    retry_.cancel();
    alive_.cancel();
    CloseAll(&shared_);
    mcp_->CloseAll();
    // odyssey-agentd removes them; it need not be there.
    retry_.expires_after(kRemoveWithin);
    retry_.async_wait([this](Error) { link_->Close(); });
    service_->WhenClosed([this] { retry_.cancel(); });
  }

  void Accept() {
    if (stopping_) return;
    acceptor_.async_accept([this](Error error, tcp::socket socket) {
      if (stopping_) return;
      if (error) {
        // Out of descriptors: the backlog stays readable.
        retry_.expires_after(kExhaustedPause);
        return retry_.async_wait([this](Error) { Accept(); });
      }
      if (shared_.connections.size() < shared_.limits.connections) {
        Serve(std::move(socket), &shared_);
      } else {
        (void)send(socket.native_handle(), kBusy, sizeof(kBusy) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
      }
      Accept();
    });
  }

  void StayAlive() {
    if (options_.alive_period.count() == 0 || stopping_) return;
    options_.alive();
    alive_.expires_after(options_.alive_period);
    alive_.async_wait([this](Error error) {
      if (!error) StayAlive();
    });
  }

  // Connections, which the loop owns, are gone when Run returns: Stop closes them.
  Options options_;
  Shared shared_;
  asio::io_context loop_{1};
  std::optional<upstream::AgentLink> link_;
  std::unique_ptr<mcp::Service> service_;
  std::optional<McpHost> mcp_;
  tcp::acceptor acceptor_{loop_};
  asio::signal_set signals_;
  asio::steady_timer retry_{loop_}, alive_{loop_};
  bool stopping_ = false;
};

Server::Server(UniqueFd listener, Options options)
    : impl_(std::make_unique<Impl>(std::move(listener), std::move(options))) {}
Server::~Server() = default;
void Server::Run() { impl_->Run(); }

}  // namespace odyssey::front
