#include "supervisor/egress/broker/name_lookup.h"

#include <netinet/in.h>
#include <sys/time.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include <boost/asio/async_result.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace odyssey::egress {
namespace {

using Descriptor = asio::posix::stream_descriptor;
using Done = std::function<void(Result<Addresses>)>;

constexpr int kTimeoutMs = 2000;  // of one try
constexpr int kTries = 2;

Addresses AddressesOf(const ares_addrinfo& found) {
  Addresses out;
  for (const ares_addrinfo_node* node = found.nodes; node != nullptr; node = node->ai_next) {
    if (node->ai_family == AF_INET) {
      const auto* address = reinterpret_cast<const sockaddr_in*>(node->ai_addr);
      out.push_back(asio::ip::make_address_v4(ntohl(address->sin_addr.s_addr)));
    } else if (node->ai_family == AF_INET6) {
      const auto* address = reinterpret_cast<const sockaddr_in6*>(node->ai_addr);
      asio::ip::address_v6::bytes_type bytes;
      std::copy_n(address->sin6_addr.s6_addr, bytes.size(), bytes.begin());
      out.push_back(asio::ip::make_address_v6(bytes));
    }
  }
  return out;
}

void OnFound(void* argument, int status, int /*timeouts*/, ares_addrinfo* found) {
  const std::unique_ptr<Done> done(static_cast<Done*>(argument));
  const std::unique_ptr<ares_addrinfo, void (*)(ares_addrinfo*)> owner(found, ares_freeaddrinfo);
  Addresses addresses = found == nullptr ? Addresses() : AddressesOf(*found);
  if (status != ARES_SUCCESS) return (*done)(Unavailable(ares_strerror(status)));
  if (addresses.empty()) return (*done)(Unavailable("the name has no address"));
  (*done)(std::move(addresses));
}

}  // namespace

Result<std::unique_ptr<NameLookup>> NameLookup::Make(asio::io_context* loop) {
  std::unique_ptr<NameLookup> out(new NameLookup(loop));
  ares_options options{};
  options.timeout = kTimeoutMs;
  options.tries = kTries;
  options.sock_state_cb = [](void* self, ares_socket_t socket, int read, int write) {
    static_cast<NameLookup*>(self)->Watch(socket, read != 0, write != 0);
  };
  options.sock_state_cb_data = out.get();
  const int mask = ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB;
  const int status = ares_init_options(&out->channel_, &options, mask);
  if (status != ARES_SUCCESS) return Internal(std::string("c-ares: ") + ares_strerror(status));
  return out;
}

NameLookup::~NameLookup() {
  if (channel_ != nullptr) ares_destroy(channel_);
}

asio::awaitable<Result<Addresses>> NameLookup::Find(const std::string& name) {
  const auto start = [this, &name](auto handler) {
    // Shared: c-ares wants a function that can be copied.
    auto shared = std::make_shared<decltype(handler)>(std::move(handler));
    auto* done = new Done([this, shared](Result<Addresses> found) {
      asio::post(*loop_,
                 [shared, found = std::move(found)]() mutable { (*shared)(std::move(found)); });
    });
    ares_addrinfo_hints hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = ARES_AI_NOSORT;
    ares_getaddrinfo(channel_, name.c_str(), nullptr, &hints, OnFound, done);
    SetTimer();
  };
  co_return co_await asio::async_initiate<decltype(asio::use_awaitable), void(Result<Addresses>)>(
      start, asio::use_awaitable);
}

void NameLookup::Watch(ares_socket_t socket, bool read, bool write) {
  if (!read && !write) {
    const auto it = watched_.find(socket);
    if (it == watched_.end()) return;
    it->second.descriptor->release();  // c-ares closes it
    watched_.erase(it);
    return;
  }
  Watched& watched = watched_[socket];
  if (!watched.descriptor) watched.descriptor = std::make_shared<Descriptor>(*loop_, socket);
  if (read && !std::exchange(watched.read, true)) WaitFor(socket, Descriptor::wait_read);
  if (write && !std::exchange(watched.write, true)) WaitFor(socket, Descriptor::wait_write);
}

void NameLookup::WaitFor(ares_socket_t socket, Descriptor::wait_type what) {
  const auto descriptor = watched_[socket].descriptor;
  descriptor->async_wait(what, [this, socket, what, descriptor](const auto& error) {
    const auto it = watched_.find(socket);
    if (error || it == watched_.end() || it->second.descriptor != descriptor) return;
    const bool read = what == Descriptor::wait_read;
    (read ? it->second.read : it->second.write) = false;
    ares_process_fd(channel_, read ? socket : ARES_SOCKET_BAD, read ? ARES_SOCKET_BAD : socket);
    SetTimer();
    const auto again = watched_.find(socket);
    if (again == watched_.end() || again->second.descriptor != descriptor) return;
    bool& waits = read ? again->second.read : again->second.write;
    if (read && !std::exchange(waits, true)) WaitFor(socket, what);
  });
}

void NameLookup::SetTimer() {
  timeval next{};
  if (ares_timeout(channel_, nullptr, &next) == nullptr) {
    timer_.cancel();
    return;
  }
  timer_.expires_after(std::chrono::seconds(next.tv_sec) + std::chrono::microseconds(next.tv_usec));
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    ares_process_fd(channel_, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
    SetTimer();
  });
}

}  // namespace odyssey::egress
