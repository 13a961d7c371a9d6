#ifndef ODYSSEY_SUPERVISOR_EGRESS_PROTOCOL_SYNTHETIC_H_
#define ODYSSEY_SUPERVISOR_EGRESS_PROTOCOL_SYNTHETIC_H_

// The addresses that stand for names in one cell: the policy's name server gives them out, and a
// connection to one is a connection to its name.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <optional>
#include <string>

#include "supervisor/egress/protocol/ip_address.h"

namespace odyssey::egress::protocol {

inline constexpr size_t kMaxSyntheticNames = 1024;

struct SyntheticAddress {
  Ipv4 v4 = {};  // in 198.18.0.0/15
  Ipv6 v6 = {};  // in fd6f:6479:7373:6579::/64, its last four bytes those of `v4`
  friend bool operator==(const SyntheticAddress&, const SyntheticAddress&) = default;
};

// A name keeps its address while it is in the table. The address of a name that was given up comes
// last in turn: with at most 1,024 new names a TTL, it stands for another name after 126 TTLs at
// the earliest, and for none in between. So an address that a program kept for too long leads
// nowhere, not to another host.
class SyntheticTable final {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // `ttl`: of the answers that give the addresses out.
  explicit SyntheticTable(std::chrono::seconds ttl) : ttl_(ttl) {}
  SyntheticTable(SyntheticTable&&) = default;
  SyntheticTable& operator=(SyntheticTable&&) = default;

  // The address of a name, a new one if it has none. In a full table it takes the place of the name
  // that was not used for the longest time; nullopt if that was used within the last TTL.
  std::optional<SyntheticAddress> Use(const std::string& name, Time now);

  // The name that an address stands for, which is a use of it; nullopt: none.
  std::optional<std::string> Find(const Ipv4& address, Time now);
  std::optional<std::string> Find(const Ipv6& address, Time now);

  size_t size() const { return used_.size(); }

 private:
  struct Entry {
    std::string name;
    uint32_t number = 0;  // the address, counted from the first of its network
    Time used;
  };
  using Entries = std::list<Entry>;

  void Touch(Entries::iterator entry, Time now);
  std::optional<std::string> FindNumber(uint32_t number, Time now);
  uint32_t TakeNumber();

  std::chrono::seconds ttl_;
  uint32_t numbers_taken_ = 0;  // of those that no name had yet
  std::deque<uint32_t> freed_;  // of names that were given up, the oldest first
  Entries used_;                // the last used first
  std::map<std::string, Entries::iterator> by_name_;
  std::map<uint32_t, Entries::iterator> by_number_;
};

}  // namespace odyssey::egress::protocol

#endif  // ODYSSEY_SUPERVISOR_EGRESS_PROTOCOL_SYNTHETIC_H_
