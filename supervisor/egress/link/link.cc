#include "supervisor/egress/link/link.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>

#include <utility>

#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace odyssey::egress {
namespace {

constexpr size_t kMaxWaiting = 4096;
constexpr int kBurst = 64;  // messages that are received before others of the loop have their turn

UniqueFd Copy(int fd) { return UniqueFd(fcntl(fd, F_DUPFD_CLOEXEC, 0)); }

}  // namespace

Link::Link(asio::io_context* loop, UniqueFd socket)
    : socket_(*loop, socket.release()), spare_(Copy(socket_.native_handle())) {}

asio::awaitable<Result<Message>> Link::Receive() {
  const auto self = shared_from_this();
  if (++burst_ >= kBurst) {
    burst_ = 0;
    co_await asio::post(socket_.get_executor(), asio::use_awaitable);
  }
  while (socket_.is_open()) {
    Result<Message> message = ReceiveNow();
    if (message.ok() || message.status().code() != Code::kResourceExhausted) co_return message;
    burst_ = 0;
    boost::system::error_code error;
    co_await socket_.async_wait(asio::posix::stream_descriptor::wait_read,
                                asio::redirect_error(asio::use_awaitable, error));
    if (error) break;
  }
  co_return Unavailable("closed");
}

// With no descriptor free the kernel would cut the message: which one it answers would be lost too.
Result<Message> Link::ReceiveNow() {
  const int socket = socket_.native_handle();
  spare_.reset();
  Result<Message> message = ReceiveMessage(socket, MSG_DONTWAIT);
  spare_ = Copy(socket);
  if (spare_ || !message.ok() || message->fds.empty()) return message;
  message->fds.clear();
  spare_ = Copy(socket);
  return message;
}

void Link::Send(std::string bytes, UniqueFd fd) {
  if (!socket_.is_open()) return;
  if (waiting_.size() == kMaxWaiting) return Close();
  waiting_.push_back({std::move(bytes), std::move(fd)});
  if (!flushing_) Flush();
}

void Link::Flush() {
  while (socket_.is_open() && !waiting_.empty()) {
    const Waiting& next = waiting_.front();
    const std::vector<int> fds = next.fd ? std::vector<int>{next.fd.get()} : std::vector<int>{};
    const Status sent = SendMessage(socket_.native_handle(), next.bytes, fds, MSG_DONTWAIT);
    if (sent.code() == Code::kResourceExhausted) {
      flushing_ = true;
      socket_.async_wait(asio::posix::stream_descriptor::wait_write,
                         [self = shared_from_this()](const boost::system::error_code& error) {
                           self->flushing_ = false;
                           if (!error) self->Flush();
                         });
      return;
    }
    if (!sent.ok()) return Close();
    // It may have been a secret.
    explicit_bzero(waiting_.front().bytes.data(), waiting_.front().bytes.size());
    waiting_.pop_front();
  }
}

void Link::Finish() {
  waiting_.clear();
  if (socket_.is_open()) shutdown(socket_.native_handle(), SHUT_WR);
}

void Link::Close() {
  boost::system::error_code ignored;
  socket_.close(ignored);
  waiting_.clear();
}

}  // namespace odyssey::egress
