#include "supervisor/egress/broker/dialer.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string_view>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "common/base/control.h"
#include "policy/egress/decision.h"
#include "policy/egress/pattern.h"
#include "policy/egress/reach.h"
#include "supervisor/egress/credentials/text_form.h"

namespace odyssey::egress {
namespace {

using Tcp = asio::ip::tcp;

constexpr auto kTimeout = std::chrono::seconds(10);
constexpr size_t kMaxHeadBytes = 8 * 1024;  // of the proxy's answer
constexpr std::string_view kHeadEnd = "\r\n\r\n";

std::string TextOf(const Tcp::endpoint& to) {
  return BeforePort(to.address().to_string()) + ":" + std::to_string(to.port());
}

// "HTTP/1.1 200 …": of a head that is whole.
bool IsSuccess(std::string_view head) {
  return (head.rfind("HTTP/1.1 ", 0) == 0 || head.rfind("HTTP/1.0 ", 0) == 0) && head.size() > 12 &&
         head[9] == '2' && head[12] == ' ';
}

// Closes the socket when the time is over.
class TimeLimit final {
 public:
  TimeLimit(asio::io_context* loop, Tcp::socket* socket) : timer_(*loop, kTimeout) {
    timer_.async_wait([late = late_, socket](const boost::system::error_code& error) {
      if (error) return;
      *late = true;
      boost::system::error_code ignored;
      socket->close(ignored);
    });
  }
  // It has passed, or is over now.
  bool End() { return timer_.cancel() == 0 || *late_; }

 private:
  const std::shared_ptr<bool> late_ = std::make_shared<bool>(false);
  asio::steady_timer timer_;
};

}  // namespace

Result<Tcp::endpoint> ParseProxyAddress(const std::string& text) {
  const Result<Destination> to = ParseDestination(text);
  boost::system::error_code error;
  const auto address = asio::ip::make_address(to.ok() ? to->host : "", error);
  if (!error && to->port != 0) return Tcp::endpoint(address, to->port);
  return InvalidArgument("`" + text + "`: ADDRESS:PORT is allowed, such as 192.0.2.1:3128");
}

Result<std::string> ProxyAuthorization(std::string text) {
  StripLineEnd(&text);
  const bool plain = std::all_of(text.begin(), text.end(), [](char c) { return c > 0x1f; });
  if (text.find(':') == std::string::npos || !plain || text.size() > 1024) {
    return InvalidArgument("the file must have one line, USER:PASSWORD");
  }
  return "Basic " + credentials::Base64Encode(text);
}

asio::awaitable<Result<UniqueFd>> Dialer::Connect(Tcp::endpoint to) const {
  Tcp::socket socket(*loop_);
  TimeLimit limit(loop_, &socket);
  boost::system::error_code error;
  co_await socket.async_connect(proxy_ ? proxy_->address : to,
                                asio::redirect_error(asio::use_awaitable, error));
  Status status =
      error ? Unavailable((proxy_ ? "the operator's proxy: " : "") + error.message()) : OkStatus();
  if (!error && proxy_) status = co_await AskProxy(&socket, to);
  if (limit.End()) co_return Status(Code::kDeadlineExceeded, "no answer in 10 s");
  if (!status.ok()) co_return status;
  socket.set_option(Tcp::no_delay(true), error);
  co_return UniqueFd(socket.release());
}

// Its answer is taken up to its end and no byte further: what follows is the server's.
asio::awaitable<Status> Dialer::AskProxy(Tcp::socket* socket, const Tcp::endpoint& to) const {
  const std::string place = TextOf(to);
  std::string request = "CONNECT " + place + " HTTP/1.1\r\nHost: " + place + "\r\n";
  if (!proxy_->authorization.empty()) {
    request += "Proxy-Authorization: " + proxy_->authorization + "\r\n";
  }
  request += "\r\n";
  boost::system::error_code error;
  co_await asio::async_write(*socket, asio::buffer(request),
                             asio::redirect_error(asio::use_awaitable, error));
  std::string head;
  while (!error && head.find(kHeadEnd) == std::string::npos) {
    if (head.size() >= kMaxHeadBytes)
      co_return Unavailable("the operator's proxy: no answer of HTTP");
    char byte = 0;
    co_await asio::async_read(*socket, asio::buffer(&byte, 1),
                              asio::redirect_error(asio::use_awaitable, error));
    if (!error) head += byte;
  }
  if (error) co_return Unavailable("the operator's proxy: " + error.message());
  if (IsSuccess(head)) co_return OkStatus();
  const std::string line = head.substr(0, head.find('\r'));
  co_return Unavailable("the operator's proxy answered " + Shown(line));
}

}  // namespace odyssey::egress
