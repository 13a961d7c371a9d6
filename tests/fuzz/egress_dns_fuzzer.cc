// A DNS message is whatever a command sends to the policy's name server: no crash, only names that
// a host may have, replies that fit 512 bytes and are no queries.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "supervisor/egress/protocol/dns.h"
#include "supervisor/egress/protocol/host_name.h"

using odyssey::egress::protocol::DnsAddresses;
using odyssey::egress::protocol::DnsCode;
using odyssey::egress::protocol::DnsReply;
using odyssey::egress::protocol::ReadDnsQuery;

namespace {

void CheckReply(const std::string& reply) {
  ODY_CHECK(reply.size() <= 512);
  const auto read = ReadDnsQuery(reply);
  ODY_CHECK(!read.query && read.reply.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const auto frame = odyssey::egress::protocol::ReadDnsFrame(input);
  ODY_CHECK(frame.consumed <= size);
  ODY_CHECK(frame.message.empty() || frame.message.size() + 2 == frame.consumed);

  const auto received = ReadDnsQuery(input);
  if (!received.query) {
    if (!received.reply.empty()) CheckReply(received.reply);
    return 0;
  }
  ODY_CHECK(odyssey::egress::protocol::ReadHostName(received.query->name) == received.query->name);
  const DnsAddresses addresses = {{{198, 18, 0, 1}},
                                  std::vector<odyssey::egress::protocol::Ipv6>(9)};
  CheckReply(DnsReply(*received.query, addresses, std::chrono::seconds(30)));
  CheckReply(DnsReply(*received.query, DnsCode::kNxDomain));
  return 0;
}
