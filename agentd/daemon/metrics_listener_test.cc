#include "agentd/daemon/metrics_listener.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/os/file.h"
#include "common/os/unique_fd.h"

namespace odyssey::daemon {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

sockaddr_in Loopback(uint16_t port) {
  sockaddr_in out{};
  out.sin_family = AF_INET;
  out.sin_port = htons(port);
  out.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return out;
}

uint16_t FreePort() {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof(address);
  EXPECT_EQ(bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  EXPECT_EQ(getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  return ntohs(address.sin_port);
}

std::string Ask(uint16_t port, const std::string& request) {
  const UniqueFd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_in address = Loopback(port);
  EXPECT_EQ(connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_TRUE(WriteAll(socket.get(), request).ok());
  std::string out;
  char buffer[4096];
  ssize_t size = 0;
  while ((size = read(socket.get(), buffer, sizeof(buffer))) > 0) {
    out.append(buffer, static_cast<size_t>(size));
  }
  return out;
}

TEST(MetricsListenerTest, ServesTheTextAndNothingElse) {
  const uint16_t port = FreePort();
  int calls = 0;
  const auto listener = ListenForMetrics("127.0.0.1:" + std::to_string(port), [&calls] {
    return "cells " + std::to_string(++calls) + "\n";
  });
  ASSERT_TRUE(listener.ok()) << listener.status().message();
  const std::string got = Ask(port, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_THAT(got, StartsWith("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(got, HasSubstr("Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"));
  EXPECT_THAT(got, ::testing::EndsWith("\r\n\r\ncells 1\n"));
  for (const char* path : {"/", "/metrics/", "/etc/passwd", "/../../etc/passwd", "/metrics/../x"}) {
    const std::string other =
        Ask(port, std::string("GET ") + path + " HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_THAT(other, StartsWith("HTTP/1.1 404 ")) << path;
    EXPECT_THAT(other, Not(HasSubstr("root:"))) << path;
  }
  for (const char* method : {"POST", "PUT", "DELETE"}) {
    EXPECT_THAT(Ask(port, std::string(method) +
                              " /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n"),
                StartsWith("HTTP/1.1 405 "))
        << method;
  }
  EXPECT_EQ(calls, 1);
}

TEST(MetricsListenerTest, SaysWhatItCannotListenOn) {
  const std::string address = "127.0.0.1:" + std::to_string(FreePort());
  const auto first = ListenForMetrics(address, [] { return ""; });
  ASSERT_TRUE(first.ok());
  const auto second = ListenForMetrics(address, [] { return ""; });
  EXPECT_EQ(second.status().code(), Code::kUnavailable);
  EXPECT_THAT(second.status().message(), HasSubstr(address));
  EXPECT_THAT(second.status().message(), HasSubstr("in use"));
}

TEST(MetricsListenerTest, TakesLoopbackAlone) {
  for (const char* good : {"127.0.0.1:9464", "127.1.2.3:1", "127.0.0.1:65535"}) {
    EXPECT_TRUE(CheckMetricsAddress("--o", good).ok()) << good;
  }
  for (const char* bad : {"", "9464", ":9464", "0.0.0.0:9464", "192.0.2.1:9464", "[::]:9464",
                          "localhost:9464", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0",
                          "127.0.0.1:65536", "127.0.0.1:9464s", "127.0.0.1:9464,0.0.0.0:9464",
                          "127.0.0.1:+1", "::1:9464", "[::1]:9464", "0.0.0.0:1,127.0.0.1:2"}) {
    const Status status = CheckMetricsAddress("--o", bad);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << bad;
    EXPECT_THAT(status.message(), HasSubstr("--o \"" + std::string(bad) + "\"")) << bad;
  }
}

}  // namespace
}  // namespace odyssey::daemon
