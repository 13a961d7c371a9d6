#include "supervisor/egress/worker/name_server.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <chrono>
#include <string>
#include <utility>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "policy/egress/reach.h"
#include "supervisor/egress/protocol/dns.h"
#include "supervisor/egress/worker/stream.h"

namespace odyssey::egress {
namespace {

constexpr std::chrono::seconds kTtl{30};
constexpr auto kStreamTimeout = std::chrono::seconds(10);
constexpr char kOwnName[] = "cell";

// Whether some program may connect to it, on some port.
bool IsNamed(const NetworkPolicy& policy, const std::string& name) {
  const Result<Destination> destination = ParseDestination(name);
  if (!destination.ok() || !destination->never.empty()) return false;
  for (const Match& match : MatchesOf(policy, *destination)) {
    if (match.kind != MatchKind::kPrivate) return true;
  }
  return false;
}

// "": nothing is sent.
std::string Answer(Worker* worker, std::string_view message) {
  protocol::DnsReceived received = protocol::ReadDnsQuery(message);
  if (!received.query) return std::move(received.reply);
  const protocol::DnsQuery& query = *received.query;
  if (!IsNamed(worker->policy()->policy, query.name)) {
    if (query.name != kOwnName) {
      egress_wire::Record record;
      record.way = "dns";
      record.host = query.name;
      record.code = "policy_denied";
      record.reason = "no rule names " + query.name;
      worker->Report(std::move(record));
    }
    return protocol::DnsReply(query, protocol::DnsCode::kNxDomain);
  }
  const auto address = worker->names()->Use(query.name, std::chrono::steady_clock::now());
  if (!address) return protocol::DnsReply(query, protocol::DnsCode::kRefused);
  return protocol::DnsReply(query, {.v4 = {address->v4}, .v6 = {address->v6}}, kTtl);
}

// The answer goes back from the address that was asked.
void AnswerDatagram(Worker* worker, int socket) {
  char query[protocol::kMaxDnsMessage];
  alignas(cmsghdr) char control[256];
  sockaddr_in6 from{};
  iovec part{query, sizeof(query)};
  msghdr message{&from, sizeof(from), &part, 1, control, sizeof(control), 0};
  const ssize_t size = recvmsg(socket, &message, MSG_DONTWAIT);
  if (size <= 0 || (message.msg_flags & MSG_TRUNC) != 0) return;
  std::string answer = Answer(worker, std::string_view(query, static_cast<size_t>(size)));
  if (answer.empty()) return;
  for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
    if (c->cmsg_level != IPPROTO_IPV6 || c->cmsg_type != IPV6_PKTINFO) continue;
    reinterpret_cast<in6_pktinfo*>(CMSG_DATA(c))->ipi6_ifindex = 0;
  }
  part = {answer.data(), answer.size()};
  (void)sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

}  // namespace

asio::awaitable<void> ServeNames(Worker* worker, UniqueFd datagrams) {
  asio::posix::stream_descriptor socket(*worker->loop(), datagrams.release());
  for (;;) {
    boost::system::error_code error;
    co_await socket.async_wait(asio::posix::stream_descriptor::wait_read,
                               asio::redirect_error(asio::use_awaitable, error));
    if (error) co_return;
    AnswerDatagram(worker, socket.native_handle());
  }
}

asio::awaitable<void> ServeNameStream(Worker* worker, Tcp::socket socket) {
  PlainStream client(std::move(socket));
  const Deadline deadline(&client.socket(), kStreamTimeout);
  std::string bytes;
  for (;;) {
    const protocol::DnsFrame frame = protocol::ReadDnsFrame(bytes);
    if (frame.state == protocol::DnsFrameState::kBad) co_return;
    if (frame.state == protocol::DnsFrameState::kMessage) {
      const std::string answer = Answer(worker, frame.message);
      bytes.erase(0, frame.consumed);
      if (!answer.empty() && !(co_await client.Write(protocol::FrameDns(answer))).ok()) co_return;
      continue;
    }
    const Result<bool> more = co_await client.Read(&bytes);
    if (!more.ok() || !*more) co_return;
  }
}

}  // namespace odyssey::egress
