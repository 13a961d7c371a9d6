#include "tests/fakes/fake_http_server.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "common/base/status.h"
#include "common/os/file.h"

namespace odyssey::fakes {
namespace {

// Whether the request is complete: its headers, and as many bytes as they announce.
bool IsComplete(const std::string& request) {
  const size_t end = request.find("\r\n\r\n");
  if (end == std::string::npos) return false;
  const size_t length = request.find("Content-Length: ");
  if (length == std::string::npos || length > end) return true;
  return request.size() >= end + 4 + std::strtoul(request.c_str() + length + 16, nullptr, 10);
}

}  // namespace

FakeHttpServer::FakeHttpServer(std::vector<std::string> answers, After after)
    : answers_(std::move(answers)),
      after_(after),
      listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
      stop_(eventfd(0, EFD_CLOEXEC)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ODY_CHECK(bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), size) == 0);
  ODY_CHECK(listen(listener_.get(), 4) == 0);
  ODY_CHECK(getsockname(listener_.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { Serve(); });
}

FakeHttpServer::~FakeHttpServer() {
  const uint64_t one = 1;
  ODY_CHECK(write(stop_.get(), &one, sizeof(one)) == sizeof(one));
  thread_.join();
}

std::string FakeHttpServer::url() const { return "http://127.0.0.1:" + std::to_string(port_); }

std::string FakeHttpServer::request() {
  std::lock_guard lock(mutex_);
  return request_;
}

int FakeHttpServer::requests() {
  std::lock_guard lock(mutex_);
  return static_cast<int>(requests_);
}

void FakeHttpServer::Serve() {
  pollfd polled[] = {{listener_.get(), POLLIN, 0}, {stop_.get(), POLLIN, 0}};
  while (poll(polled, 2, -1) >= 0 && polled[1].revents == 0) {
    UniqueFd connection(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (connection) Answer(connection.get());
  }
}

void FakeHttpServer::Answer(int connection) {
  std::string request;
  char buffer[4096];
  while (!IsComplete(request)) {
    const ssize_t n = read(connection, buffer, sizeof(buffer));
    if (n <= 0) return;
    request.append(buffer, static_cast<size_t>(n));
  }
  std::string answer;
  {
    std::lock_guard lock(mutex_);
    request_ = request;
    answer = answers_[std::min(requests_++, answers_.size() - 1)];
  }
  const bool sent = send(connection, answer.data(), answer.size(), MSG_NOSIGNAL) ==
                    static_cast<ssize_t>(answer.size());
  ODY_CHECK(sent);
  if (!std::exchange(answered_once_, true)) answered_.set_value();
  if (after_ == After::kClose) return;
  pollfd polled[] = {{connection, POLLIN | POLLRDHUP, 0}, {stop_.get(), POLLIN, 0}};
  poll(polled, 2, -1);
  if (polled[0].revents != 0 && !std::exchange(closed_once_, true)) closed_.set_value();
}

}  // namespace odyssey::fakes
