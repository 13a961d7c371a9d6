#include "policy/egress/address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <vector>

namespace odyssey::egress {
namespace {

struct Named {
  const char* range;
  const char* why;
};

constexpr Named kClosed[] = {
    {"0.0.0.0/8", "unspecified"},
    {"127.0.0.0/8", "loopback"},
    {"169.254.0.0/16", "link-local"},
    {"224.0.0.0/4", "multicast"},
    {"240.0.0.0/4", "reserved"},
    {"168.63.129.16/32", "a cloud's metadata"},
    {"100.100.100.200/32", "a cloud's metadata"},
    {"192.0.0.192/32", "a cloud's metadata"},
    {"::/96", "unspecified, loopback or IPv4-compatible"},
    {"::ffff:0:0/96", "IPv4-mapped"},
    {"64:ff9b::/96", "NAT64"},
    {"64:ff9b:1::/48", "NAT64"},
    {"2001::/32", "Teredo"},
    {"2002::/16", "6to4"},
    {"fe80::/10", "link-local"},
    {"fec0::/10", "site-local"},
    {"ff00::/8", "multicast"},
    {"fd00:ec2::254/128", "a cloud's metadata"},
};

// Allowed where a policy names them.
constexpr Named kPrivate[] = {
    {"10.0.0.0/8", "a private network"},      {"172.16.0.0/12", "a private network"},
    {"192.168.0.0/16", "a private network"},  {"100.64.0.0/10", "a carrier's own network"},
    {"192.0.0.0/24", "protocol assignments"}, {"198.18.0.0/15", "benchmarking"},
    {"192.0.2.0/24", "documentation"},        {"198.51.100.0/24", "documentation"},
    {"203.0.113.0/24", "documentation"},      {"fc00::/7", "a private network"},
};

int Bits(const AddressRange& range) { return range.v6 ? 128 : 32; }

AddressRange Masked(AddressRange range) {
  for (int bit = range.prefix; bit < 128; ++bit) {
    range.bytes[static_cast<size_t>(bit / 8)] &= static_cast<uint8_t>(~(0x80 >> (bit % 8)));
  }
  return range;
}

// Without a judgement on what it holds.
std::optional<AddressRange> ParseAnyRange(const std::string& text) {
  const size_t slash = text.find('/');
  std::optional<AddressRange> range = ParseAddress(text.substr(0, slash));
  if (!range || slash == std::string::npos) return range;
  const std::string bits = text.substr(slash + 1);
  int prefix = -1;
  std::from_chars(bits.data(), bits.data() + bits.size(), prefix);
  if (prefix < 0 || prefix > Bits(*range) || std::to_string(prefix) != bits) return std::nullopt;
  range->prefix = prefix;
  return range;
}

struct NamedRange {
  AddressRange range;
  const char* why;
};

// The table's texts are read once.
template <size_t kSize>
std::vector<NamedRange> Parsed(const Named (&table)[kSize]) {
  std::vector<NamedRange> ranges;
  for (const Named& named : table) ranges.push_back({*ParseAnyRange(named.range), named.why});
  return ranges;
}

// Made of the bytes of an IPv4 address behind 5EFE, under any prefix.
bool IsIsatap(const AddressRange& range) {
  const auto& bytes = range.bytes;
  const bool global = bytes[8] == 0x02 && bytes[9] == 0;
  return range.v6 && range.prefix >= 96 && (global || (bytes[8] == 0 && bytes[9] == 0)) &&
         bytes[10] == 0x5e && bytes[11] == 0xfe;
}

}  // namespace

std::string ToString(const AddressRange& range) {
  char text[INET6_ADDRSTRLEN] = {};
  inet_ntop(range.v6 ? AF_INET6 : AF_INET, range.bytes.data(), text, sizeof(text));
  if (range.prefix == Bits(range)) return text;
  return std::string(text) + "/" + std::to_string(range.prefix);
}

std::optional<AddressRange> ParseAddress(const std::string& text) {
  AddressRange out;
  if (text.find('\0') != std::string::npos) return std::nullopt;  // inet_pton reads up to it
  if (inet_pton(AF_INET, text.c_str(), out.bytes.data()) == 1) {
    out.prefix = 32;
    return out;
  }
  out.v6 = true;
  out.prefix = 128;
  if (inet_pton(AF_INET6, text.c_str(), out.bytes.data()) == 1) return out;
  return std::nullopt;
}

bool Contains(const AddressRange& outer, const AddressRange& inner) {
  if (outer.v6 != inner.v6 || outer.prefix > inner.prefix) return false;
  const auto whole = static_cast<size_t>(outer.prefix / 8);
  if (!std::equal(outer.bytes.begin(), outer.bytes.begin() + whole, inner.bytes.begin())) {
    return false;
  }
  const int rest = outer.prefix % 8;
  return rest == 0 || ((outer.bytes[whole] ^ inner.bytes[whole]) >> (8 - rest)) == 0;
}

Result<AddressRange> ParseRange(const std::string& text) {
  const std::optional<AddressRange> range = ParseAnyRange(text);
  const std::string shown = "`" + text + "`";
  if (!range) return InvalidArgument(shown + " is no address and no range such as 10.0.0.0/8");
  if (range->prefix == 0) {
    return InvalidArgument(shown + " is every address; name the ranges that are meant");
  }
  if (Masked(*range) != *range) {
    return InvalidArgument(shown + " has bits below its prefix; " + ToString(Masked(*range)) +
                           " is the range");
  }
  const std::string why = Never(*range);
  if (why.empty()) return *range;
  return InvalidArgument(shown + " holds addresses that no policy opens: " + why);
}

std::string PrivateUse(const AddressRange& range) {
  static const std::vector<NamedRange> ranges = Parsed(kPrivate);
  for (const NamedRange& closed : ranges) {
    if (!Contains(closed.range, range)) continue;
    return std::string(closed.why) + " (" + ToString(closed.range) + ")";
  }
  return "";
}

std::string Never(const AddressRange& range) {
  static const std::vector<NamedRange> ranges = Parsed(kClosed);
  for (const NamedRange& closed : ranges) {
    if (Contains(closed.range, range)) return closed.why;
    if (!Contains(range, closed.range)) continue;
    return std::string(closed.why) + " (" + ToString(closed.range) + ")";
  }
  return IsIsatap(range) ? "ISATAP" : "";
}

}  // namespace odyssey::egress
