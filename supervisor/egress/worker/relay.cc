#include "supervisor/egress/worker/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "common/os/unique_fd.h"

namespace odyssey::egress {
namespace {

constexpr size_t kPipeBytes = 1 << 20;

struct Pipe {
  UniqueFd out, in;
};

bool Open(Pipe* pipe) {
  int fds[2];
  if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) != 0) return false;
  pipe->out = UniqueFd(fds[0]);
  pipe->in = UniqueFd(fds[1]);
  // A smaller one is slower.
  (void)fcntl(pipe->in.get(), F_SETPIPE_SZ, static_cast<int>(kPipeBytes));
  return true;
}

asio::awaitable<bool> Ready(Tcp::socket* socket, Tcp::socket::wait_type what) {
  boost::system::error_code error;
  co_await socket->async_wait(what, asio::redirect_error(asio::use_awaitable, error));
  co_return !error;
}

}  // namespace

Relay::Relay(Tcp::socket client, Tcp::socket upstream, std::shared_ptr<Meter::Account> account,
             std::chrono::seconds idle)
    : client_(std::move(client)),
      upstream_(std::move(upstream)),
      account_(std::move(account)),
      idle_time_(idle),
      idle_(client_.get_executor(), [this] {
        End({.code = "idle_timeout",
             .reason = "no byte in " + std::to_string(idle_time_.count()) + " s"});
      }) {
  idle_.Expect(idle_time_);
}

void Reset(Tcp::socket* socket) {
  boost::system::error_code ignored;
  socket->set_option(Tcp::socket::linger(true, 0), ignored);
  socket->close(ignored);
}

void Relay::Reset() {
  for (Tcp::socket* socket : {&client_, &upstream_}) egress::Reset(socket);
}

void Relay::End(Excess excess) {
  if (!excess_) excess_ = std::move(excess);
  Reset();
}

bool Relay::Count(Direction direction, size_t bytes) {
  idle_.Expect(idle_time_);
  if (!account_ || account_->Count(direction, bytes)) return true;
  End(*account_->excess());
  return false;
}

asio::awaitable<void> Relay::ToUpstream() { return Copy(&client_, &upstream_, Direction::kUp); }

asio::awaitable<void> Relay::ToClient() { return Copy(&upstream_, &client_, Direction::kDown); }

asio::awaitable<void> Relay::Copy(Tcp::socket* from, Tcp::socket* to, Direction direction) {
  const auto self = shared_from_this();
  Pipe pipe;
  if (!Open(&pipe)) co_return End({.code = kOverloaded, .reason = kNoDescriptors});
  for (;;) {
    ssize_t n = splice(from->native_handle(), nullptr, pipe.in.get(), nullptr, kPipeBytes,
                       SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
    if (n == 0) break;
    if (n < 0) {
      if (errno == EAGAIN && co_await Ready(from, Tcp::socket::wait_read)) continue;
      Reset();
      co_return;
    }
    if (!Count(direction, static_cast<size_t>(n))) co_return;
    while (n > 0) {
      const ssize_t moved = splice(pipe.out.get(), nullptr, to->native_handle(), nullptr,
                                   static_cast<size_t>(n), SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
      if (moved > 0) {
        n -= moved;
        idle_.Expect(idle_time_);
        continue;
      }
      if (moved < 0 && errno == EAGAIN && co_await Ready(to, Tcp::socket::wait_write)) continue;
      Reset();
      co_return;
    }
  }
  boost::system::error_code ignored;
  to->shutdown(Tcp::socket::shutdown_send, ignored);
}

}  // namespace odyssey::egress
