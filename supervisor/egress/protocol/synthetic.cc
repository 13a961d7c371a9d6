#include "supervisor/egress/protocol/synthetic.h"

#include <algorithm>

namespace odyssey::egress::protocol {
namespace {

constexpr uint32_t kNetwork = 198U << 24 | 18U << 16;
constexpr uint32_t kHosts = 1U << 17;
// Of RFC 4193, with "odyssey" for the random bits: no site's own network is likely to have it.
constexpr std::array<uint8_t, 12> kPrefix = {0xfd, 'o', 'd', 'y', 's', 's', 'e', 'y', 0, 0, 0, 0};

SyntheticAddress AddressOf(uint32_t number) {
  const uint32_t address = kNetwork + number;
  SyntheticAddress out;
  out.v4 = {static_cast<uint8_t>(address >> 24), static_cast<uint8_t>(address >> 16),
            static_cast<uint8_t>(address >> 8), static_cast<uint8_t>(address)};
  std::copy(kPrefix.begin(), kPrefix.end(), out.v6.begin());
  std::copy(out.v4.begin(), out.v4.end(), out.v6.begin() + kPrefix.size());
  return out;
}

// Of an address outside the network: a number that no name has.
uint32_t NumberOf(const Ipv4& address) {
  const uint32_t value =
      static_cast<uint32_t>(address[0]) << 24 | address[1] << 16 | address[2] << 8 | address[3];
  return value - kNetwork;
}

}  // namespace

std::optional<SyntheticAddress> SyntheticTable::Use(const std::string& name, Time now) {
  if (const auto known = by_name_.find(name); known != by_name_.end()) {
    Touch(known->second, now);
    return AddressOf(known->second->number);
  }
  if (used_.size() == kMaxSyntheticNames) {
    const Entry& oldest = used_.back();
    if (now - oldest.used <= ttl_) return std::nullopt;
    by_name_.erase(oldest.name);
    by_number_.erase(oldest.number);
    freed_.push_back(oldest.number);
    used_.pop_back();
  }
  used_.push_front({name, TakeNumber(), now});
  by_name_[name] = used_.begin();
  by_number_[used_.front().number] = used_.begin();
  return AddressOf(used_.front().number);
}

std::optional<std::string> SyntheticTable::Find(const Ipv4& address, Time now) {
  return FindNumber(NumberOf(address), now);
}

std::optional<std::string> SyntheticTable::Find(const Ipv6& address, Time now) {
  if (!std::equal(kPrefix.begin(), kPrefix.end(), address.begin())) return std::nullopt;
  return Find(Ipv4{address[12], address[13], address[14], address[15]}, now);
}

std::optional<std::string> SyntheticTable::FindNumber(uint32_t number, Time now) {
  const auto known = by_number_.find(number);
  if (known == by_number_.end()) return std::nullopt;
  Touch(known->second, now);
  return known->second->name;
}

void SyntheticTable::Touch(Entries::iterator entry, Time now) {
  entry->used = now;
  used_.splice(used_.begin(), used_, entry);
}

uint32_t SyntheticTable::TakeNumber() {
  if (numbers_taken_ < kHosts - 2) return ++numbers_taken_;  // not the network's first and last
  const uint32_t number = freed_.front();
  freed_.pop_front();
  return number;
}

}  // namespace odyssey::egress::protocol
