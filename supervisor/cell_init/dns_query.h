#ifndef ODYSSEY_SUPERVISOR_CELL_INIT_DNS_QUERY_H_
#define ODYSSEY_SUPERVISOR_CELL_INIT_DNS_QUERY_H_

// A DNS query (RFC 1035), in bytes that a command of a cell chose. Pure and bounded.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace odyssey::cell_init {

inline constexpr size_t kMaxDnsQuery = 1232;  // what resolvers send at most without fragments

struct RefusedQuery {
  std::string name;   // in lower case, without the last dot; a byte that no host name has is '?'
  std::string reply;  // "no such name" (NXDOMAIN), at which a resolver asks no second time
};

// nullopt: not a query with one question.
std::optional<RefusedQuery> RefuseQuery(std::string_view query);

}  // namespace odyssey::cell_init

#endif  // ODYSSEY_SUPERVISOR_CELL_INIT_DNS_QUERY_H_
