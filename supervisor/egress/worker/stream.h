#ifndef ODYSSEY_SUPERVISOR_EGRESS_WORKER_STREAM_H_
#define ODYSSEY_SUPERVISOR_EGRESS_WORKER_STREAM_H_

// Bytes to and from one side of a connection, plain or under TLS.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>

#include "common/base/status.h"
#include "supervisor/egress/limits/meter.h"

namespace odyssey::egress {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;

class Stream {
 public:
  virtual ~Stream() = default;
  // Appends what has arrived to `*to`: false at the end. UNAVAILABLE: the connection failed, or its
  // time was over.
  asio::awaitable<Result<bool>> Read(std::string* to);
  virtual asio::awaitable<Status> Write(std::string_view bytes) = 0;
  // No more will be written.
  virtual asio::awaitable<void> Finish() = 0;
  virtual Tcp::socket& socket() = 0;

  // Of a server: what is read and written counts. Beyond a budget both are RESOURCE_EXHAUSTED.
  void SetAccount(std::shared_ptr<Meter::Account> account) { account_ = std::move(account); }
  std::optional<Excess> excess() const { return account_ ? account_->excess() : std::nullopt; }

 protected:
  Status Count(Direction direction, size_t bytes);
  // 0 at the end.
  virtual asio::awaitable<Result<size_t>> ReadSome(char* to, size_t size) = 0;

 private:
  std::shared_ptr<Meter::Account> account_;
};

class PlainStream final : public Stream {
 public:
  explicit PlainStream(Tcp::socket socket) : socket_(std::move(socket)) {}
  asio::awaitable<Status> Write(std::string_view bytes) override;
  asio::awaitable<void> Finish() override;
  Tcp::socket& socket() override { return socket_; }

 protected:
  asio::awaitable<Result<size_t>> ReadSome(char* to, size_t size) override;

 private:
  Tcp::socket socket_;
};

class TlsStream final : public Stream {
 public:
  using Tls = asio::ssl::stream<Tcp::socket>;
  // The caller makes the handshake.
  TlsStream(Tcp::socket socket, asio::ssl::context* context) : tls_(std::move(socket), *context) {}
  Tls& tls() { return tls_; }
  // What both sides agreed on; "": nothing.
  std::string_view alpn();
  asio::awaitable<Status> Write(std::string_view bytes) override;
  asio::awaitable<void> Finish() override;
  Tcp::socket& socket() override { return tls_.next_layer(); }

 protected:
  asio::awaitable<Result<size_t>> ReadSome(char* to, size_t size) override;

 private:
  Tls tls_;
};

// Closes the socket when the time is over before it is destroyed. What waits for the socket fails.
class Deadline final {
 public:
  Deadline(Tcp::socket* socket, std::chrono::milliseconds time);
  ~Deadline() { *alive_ = false; }
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;
  bool passed() const { return passed_; }

 private:
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  bool passed_ = false;
  asio::steady_timer timer_;
};

// Calls `on_idle` when the time that was last expected is over. Not after its destruction.
class IdleLimit final {
 public:
  IdleLimit(asio::any_io_executor executor, std::function<void()> on_idle);
  ~IdleLimit();
  IdleLimit(const IdleLimit&) = delete;
  IdleLimit& operator=(const IdleLimit&) = delete;
  // To be called again within so much time. Cheap.
  void Expect(std::chrono::seconds time);
  bool passed() const;

 private:
  struct State;
  const std::shared_ptr<State> state_;
};

}  // namespace odyssey::egress

#endif  // ODYSSEY_SUPERVISOR_EGRESS_WORKER_STREAM_H_
