// The network is off: listeners of the host, each shown to work, never hear anything from a cell.

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include "common/os/unique_fd.h"
#include "tests/integration/cell_probe.h"
#include "tests/integration/unix_listener.h"
#include "tests/testing/machine.h"

namespace odyssey::testing {
namespace {

// A socket of the host at an Internet address with a port of the kernel's choice.
class InternetListener final {
 public:
  InternetListener(int family, int type) : socket_(::socket(family, type | SOCK_CLOEXEC, 0)) {
    sockaddr_in6 any{};  // of either family, all zeros is "any address, any port"
    any.sin6_family = static_cast<sa_family_t>(family);
    socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    EXPECT_EQ(bind(socket_.get(), reinterpret_cast<sockaddr*>(&any), size), 0) << strerror(errno);
    if (type == SOCK_STREAM) Listen();
    EXPECT_EQ(getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&any), &size), 0);
    port_ = ntohs(any.sin6_port);  // where sin_port is, too
  }
  int fd() const { return socket_.get(); }
  std::string port() const { return std::to_string(port_); }

 private:
  void Listen() { EXPECT_EQ(listen(socket_.get(), 8), 0) << strerror(errno); }

  UniqueFd socket_;
  uint16_t port_ = 0;
};

class ConfinementNetworkTest : public ::testing::Test {
 protected:
  SupervisorHarness supervisor_;
  const v1::CellInfo info_ = *supervisor_.Prepare(SupervisorHarness::Request("network"));
  const std::string cell_ = info_.cell_id();
};

TEST_F(ConfinementNetworkTest, ListenersOfTheHostHearNothing) {
  const InternetListener tcp(AF_INET, SOCK_STREAM), udp(AF_INET, SOCK_DGRAM);
  const InternetListener tcp6(AF_INET6, SOCK_STREAM), udp6(AF_INET6, SOCK_DGRAM);
  const std::string script = "ports = [" + tcp.port() + ", " + udp.port() + ", " + tcp6.port() +
                             ", " + udp6.port() + "]\n" + R"(
def attempts(suffix, four, six):
    attempt('tcp ' + suffix, lambda: socket.create_connection((four, ports[0]), 5))
    attempt('tcp6 ' + suffix, lambda: socket.create_connection((six, ports[2]), 5))
    attempt('udp ' + suffix, lambda: socket.socket(2, 2).sendto(b'x', (four, ports[1])))
    attempt('udp6 ' + suffix, lambda: socket.socket(10, 2).sendto(b'x', (six, ports[3])))
attempts('loopback', '127.0.0.1', '::1')
attempts('any', '0.0.0.0', '::')
attempts('mapped', '127.0.0.2', '::ffff:127.0.0.1')
)";
  (void)Probe(&supervisor_, cell_, script);
  for (const int fd : {tcp.fd(), udp.fd(), tcp6.fd(), udp6.fd()}) EXPECT_FALSE(Heard(fd));

  // The same with the host's network: the listeners do hear, so the test can fail.
  auto request = SupervisorHarness::Request("full");
  request.mutable_sandbox()->set_network(policy::v1::NETWORK_FULL);
  request.mutable_sandbox()->set_landlock(policy::v1::LANDLOCK_BEST_EFFORT);  // before Linux 6.12
  (void)Probe(&supervisor_, supervisor_.Cell(request), script);
  for (const int fd : {tcp.fd(), udp.fd(), tcp6.fd(), udp6.fd()}) EXPECT_TRUE(Heard(fd));
}

TEST_F(ConfinementNetworkTest, NothingOutsideIsReachable) {
  std::string own;
  ifaddrs* list = nullptr;
  ASSERT_EQ(getifaddrs(&list), 0);
  for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
    if (each->ifa_addr == nullptr || each->ifa_addr->sa_family != AF_INET) continue;
    if ((each->ifa_flags & IFF_LOOPBACK) != 0) continue;
    char text[INET_ADDRSTRLEN];
    inet_ntop(AF_INET, &reinterpret_cast<sockaddr_in*>(each->ifa_addr)->sin_addr, text,
              sizeof(text));
    own += std::string("'") + text + "',";
  }
  freeifaddrs(list);
  const Findings findings = Probe(&supervisor_, cell_, "own = [" + own + "]\n" + R"(
for address in own + ['8.8.8.8', '1.1.1.1', '169.254.169.254', '10.0.0.1', '224.0.0.251']:
    attempt('tcp ' + address, lambda: socket.create_connection((address, 53), 5))
    attempt('udp ' + address, lambda: socket.socket(2, 2).sendto(b'x', (address, 53)))
for address in ['2001:4860:4860::8888', 'ff02::fb']:
    attempt('tcp ' + address, lambda: socket.create_connection((address, 53), 5))
    attempt('udp ' + address, lambda: socket.socket(10, 2).sendto(b'x', (address, 53)))
)");
  ExpectAll(findings, {"ENETUNREACH", "EADDRNOTAVAIL"}, 14);
}

TEST_F(ConfinementNetworkTest, NamesAreNotResolved) {
  const ExecResult result = supervisor_.Python(cell_, R"(
import socket
print(open('/etc/resolv.conf').read(), end='')
for name in ['example.com', 'exfiltrated.example.org', 'metadata.google.internal']:
    try:
        print(socket.getaddrinfo(name, 80))
    except socket.gaierror as error:
        print('refused')
print(socket.gethostbyname('localhost'))
)");
  EXPECT_EQ(result.out, "nameserver 127.0.0.1\nrefused\nrefused\nrefused\n127.0.0.1\n")
      << result.ToString();
}

TEST_F(ConfinementNetworkTest, AbstractSocketsOfTheHostHearNothing) {
  const std::string name = "@odyssey-canary-" + std::to_string(getpid());
  const UnixListener stream(name + "s", SOCK_STREAM), datagram(name + "d", SOCK_DGRAM);
  const UnixListener packets(name + "p", SOCK_SEQPACKET);
  for (const auto network : {policy::v1::NETWORK_NONE, policy::v1::NETWORK_FULL}) {
    auto request = SupervisorHarness::Request("abstract");
    request.mutable_sandbox()->set_network(network);
    if (network == policy::v1::NETWORK_FULL && LandlockAbi() < kLandlockScopes) {
      const Status refused = supervisor_.Prepare(request).status();
      EXPECT_EQ(refused.code(), Code::kFailedPrecondition) << refused.ToString();
      EXPECT_NE(refused.message().find("scope_abstract_socket"), std::string::npos);
      continue;
    }
    const std::string cell = supervisor_.Cell(request);
    for (const std::string suffix : {"s", "d", "p"}) {
      const Findings findings = Probe(
          &supervisor_, cell, UnixAttempts(suffix, "b'\\0" + (name + suffix).substr(1) + "'"));
      // EPROTOTYPE would say that somebody is there.
      ExpectAll(findings, {"ECONNREFUSED", "EPERM"}, 9);
    }
  }
  for (const int fd : {stream.fd(), datagram.fd(), packets.fd()}) EXPECT_FALSE(Heard(fd));
}

TEST_F(ConfinementNetworkTest, SocketsOfTheHostWithAPathHearNothing) {
  const std::string run = "/run/odyssey-canary-" + std::to_string(getpid());
  const std::string state = supervisor_.directory() + "/canary";
  for (const std::string& path : {run, state}) {
    const UnixListener stream(path + "s", SOCK_STREAM), datagram(path + "d", SOCK_DGRAM);
    stream.GiveTo(info_.host_uid());
    datagram.GiveTo(info_.host_uid());
    for (const std::string suffix : {"s", "d"}) {
      ASSERT_TRUE(supervisor_.Exec(cell_, {"ln", "-sfn", path + suffix, "link"}).Exited(0));
      for (const std::string& target :
           {path + suffix, std::string("link"), "/proc/self/root" + path + suffix,
            "/proc/1/root" + path + suffix}) {
        const Findings findings =
            Probe(&supervisor_, cell_, UnixAttempts(suffix, "'" + target + "'"));
        ExpectAll(findings, {"ENOENT", "EACCES"}, 9);
      }
    }
    EXPECT_FALSE(Heard(stream.fd()));
    EXPECT_FALSE(Heard(datagram.fd()));
  }
}

TEST_F(ConfinementNetworkTest, TheSupervisorsOwnSocketIsOutOfReach) {
  const Findings findings =
      Probe(&supervisor_, cell_, UnixAttempts("supervisor", "'" + supervisor_.socket() + "'"));
  ExpectAll(findings, {"ENOENT", "EACCES"}, 9);
}

TEST_F(ConfinementNetworkTest, CellsDoNotHearEachOther) {
  const std::string other = supervisor_.Cell(SupervisorHarness::Request("other"));
  RunningExec server(supervisor_.stub(), other, R"(exec python3 -c "
import socket
tcp = socket.create_server(('127.0.0.1', 4444))
abstract = socket.socket(socket.AF_UNIX)
abstract.bind(b'\0of-the-other')
abstract.listen()
print('up', flush=True)
tcp.accept()
")");
  ASSERT_TRUE(server.ReadUntil("up"));
  const Findings findings = Probe(&supervisor_, cell_, R"(
attempt('tcp', lambda: socket.create_connection(('127.0.0.1', 4444), 5))
attempt('abstract', lambda: socket.socket(socket.AF_UNIX).connect(b'\0of-the-other'))
)");
  EXPECT_EQ(findings, (Findings{{"tcp", "ECONNREFUSED"}, {"abstract", "ECONNREFUSED"}}));
}

}  // namespace
}  // namespace odyssey::testing
