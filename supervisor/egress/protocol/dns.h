#ifndef ODYSSEY_SUPERVISOR_EGRESS_PROTOCOL_DNS_H_
#define ODYSSEY_SUPERVISOR_EGRESS_PROTOCOL_DNS_H_

// The policy's name server (RFC 1035, 6891): one query from bytes that a command chose, and the
// replies to it. Pure and bounded.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "supervisor/egress/protocol/ip_address.h"

namespace odyssey::egress::protocol {

inline constexpr size_t kMaxDnsMessage = 1232;  // what resolvers send at most without fragments
// A reply with that many records of either kind has at most 512 bytes: none is truncated.
inline constexpr size_t kMaxDnsAddresses = 8;
inline constexpr std::chrono::seconds kMaxDnsTtl{30};

inline constexpr uint16_t kDnsA = 1, kDnsAaaa = 28, kDnsSvcb = 64, kDnsHttps = 65;

enum class DnsCode : uint8_t {
  kNoError = 0,
  kFormErr = 1,
  kNxDomain = 3,
  kNotImp = 4,
  kRefused = 5,
};

struct DnsQuery {
  std::string name;  // in lower case, without a last dot
  uint16_t type = 0;
  bool edns = false;       // a reply has an OPT record
  std::string reply_head;  // header and question of a reply, the question as it was spelled
};

struct DnsReceived {
  std::optional<DnsQuery> query;
  // Without a query, what is sent: FORMERR, NOTIMP, or REFUSED for a name that no host has and for
  // classes other than IN. "": nothing, since the message is a response or has no header.
  std::string reply;
};

// A message with one question, nothing compressed, and at most an OPT record behind it.
DnsReceived ReadDnsQuery(std::string_view message);

// Without records: kNoError is NODATA.
std::string DnsReply(const DnsQuery& query, DnsCode code);

struct DnsAddresses {
  std::vector<Ipv4> v4;
  std::vector<Ipv6> v6;
};
// The addresses that the query's type asks for, the first kMaxDnsAddresses of them, for at most
// kMaxDnsTtl; NODATA where there are none, and for each other type, such as HTTPS and SVCB.
std::string DnsReply(const DnsQuery& query, const DnsAddresses& addresses,
                     std::chrono::seconds ttl);

// Over TCP a message comes behind its length.
enum class DnsFrameState {
  kMore,
  kMessage,
  kBad,  // no message has that length: the connection is closed
};
struct DnsFrame {
  DnsFrameState state = DnsFrameState::kMore;
  std::string_view message;  // in `stream`
  size_t consumed = 0;
};
DnsFrame ReadDnsFrame(std::string_view stream);
std::string FrameDns(std::string_view message);

}  // namespace odyssey::egress::protocol

#endif  // ODYSSEY_SUPERVISOR_EGRESS_PROTOCOL_DNS_H_
