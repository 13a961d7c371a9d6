#include "supervisor/egress/worker/stream.h"

#include <openssl/ssl.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

namespace odyssey::egress {
namespace {

constexpr size_t kReadBytes = 16 * 1024;

Status Failed(const boost::system::error_code& error) { return Unavailable(error.message()); }

template <typename S>
asio::awaitable<Status> WriteTo(S* stream, std::string_view bytes) {
  boost::system::error_code error;
  co_await asio::async_write(*stream, asio::buffer(bytes),
                             asio::redirect_error(asio::use_awaitable, error));
  co_return error ? Failed(error) : OkStatus();
}

}  // namespace

asio::awaitable<Result<bool>> Stream::Read(std::string* to) {
  const size_t before = to->size();
  to->resize(before + kReadBytes);
  const Result<size_t> size = co_await ReadSome(to->data() + before, kReadBytes);
  const Status status = size.ok() ? Count(Direction::kDown, *size) : size.status();
  to->resize(before + (status.ok() ? *size : 0));
  if (!status.ok()) co_return status;
  co_return *size > 0;
}

Status Stream::Count(Direction direction, size_t bytes) {
  if (!account_ || account_->Count(direction, bytes)) return OkStatus();
  return ResourceExhausted(account_->excess()->reason);
}

asio::awaitable<Result<size_t>> PlainStream::ReadSome(char* to, size_t size) {
  boost::system::error_code error;
  const size_t n = co_await socket_.async_read_some(
      asio::buffer(to, size), asio::redirect_error(asio::use_awaitable, error));
  if (error && error != asio::error::eof) co_return Failed(error);
  co_return n;
}

asio::awaitable<Status> PlainStream::Write(std::string_view bytes) {
  Status counted = Count(Direction::kUp, bytes.size());
  if (!counted.ok()) co_return counted;
  co_return co_await WriteTo(&socket_, bytes);
}

asio::awaitable<void> PlainStream::Finish() {
  boost::system::error_code ignored;
  socket_.shutdown(Tcp::socket::shutdown_send, ignored);
  co_return;
}

// A connection that ends without TLS's own end may have been cut: it is no end.
asio::awaitable<Result<size_t>> TlsStream::ReadSome(char* to, size_t size) {
  boost::system::error_code error;
  const size_t n = co_await tls_.async_read_some(asio::buffer(to, size),
                                                 asio::redirect_error(asio::use_awaitable, error));
  if (error && error != asio::error::eof) co_return Failed(error);
  co_return n;
}

asio::awaitable<Status> TlsStream::Write(std::string_view bytes) {
  Status counted = Count(Direction::kUp, bytes.size());
  if (!counted.ok()) co_return counted;
  co_return co_await WriteTo(&tls_, bytes);
}

asio::awaitable<void> TlsStream::Finish() {
  const Deadline deadline(&socket(), std::chrono::seconds(1));
  boost::system::error_code ignored;
  co_await tls_.async_shutdown(asio::redirect_error(asio::use_awaitable, ignored));
}

std::string_view TlsStream::alpn() {
  const unsigned char* name = nullptr;
  unsigned size = 0;
  SSL_get0_alpn_selected(tls_.native_handle(), &name, &size);
  return {reinterpret_cast<const char*>(name), size};
}

Deadline::Deadline(Tcp::socket* socket, std::chrono::milliseconds time)
    : timer_(socket->get_executor(), time) {
  timer_.async_wait([this, socket, alive = alive_](const boost::system::error_code& error) {
    if (error || !*alive) return;
    passed_ = true;
    boost::system::error_code ignored;
    socket->close(ignored);
  });
}

// The timer is seldom moved: when it fires too early it waits for the rest.
struct IdleLimit::State final : std::enable_shared_from_this<State> {
  using Time = asio::steady_timer::time_point;

  State(asio::any_io_executor executor, std::function<void()> call)
      : timer(std::move(executor)), on_idle(std::move(call)) {}

  void Arm() {
    armed = true;
    timer.expires_at(due);
    timer.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
      if (error || !self->on_idle) return;
      if (std::chrono::steady_clock::now() < self->due) return self->Arm();
      self->armed = false;
      self->passed = true;
      self->on_idle();
    });
  }

  asio::steady_timer timer;
  std::function<void()> on_idle;
  Time due;
  bool armed = false;
  bool passed = false;
};

IdleLimit::IdleLimit(asio::any_io_executor executor, std::function<void()> on_idle)
    : state_(std::make_shared<State>(std::move(executor), std::move(on_idle))) {}

IdleLimit::~IdleLimit() {
  state_->on_idle = nullptr;
  state_->timer.cancel();
}

void IdleLimit::Expect(std::chrono::seconds time) {
  state_->passed = false;
  state_->due = std::chrono::steady_clock::now() + time;
  if (!state_->armed || state_->timer.expiry() > state_->due) state_->Arm();
}

bool IdleLimit::passed() const { return state_->passed; }

}  // namespace odyssey::egress
