#include "supervisor/egress/protocol/socks5.h"

#include <gtest/gtest.h>

namespace odyssey::egress::protocol {
namespace {

using std::string_literals::operator""s;
using State = Socks5::State;

const std::string kGreeting = "\5\1\0"s;
const std::string kChosen = "\5\0"s;

std::string NameRequest(const std::string& name, char command = 1) {
  return "\5"s + command + "\0\3"s + static_cast<char>(name.size()) + name + "\1\xbb";
}

struct Outcome {
  State state = State::kMore;
  Socks5Destination destination;
  std::string output;
  size_t taken = 0;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

// Fed in parts of that many bytes.
Outcome Feed(const std::string& bytes, size_t part) {
  Socks5 socks;
  Outcome outcome;
  for (size_t at = 0; at < bytes.size(); at += part) {
    outcome.taken += socks.Feed(std::string_view(bytes).substr(at, part));
    outcome.output += socks.TakeOutput();
  }
  outcome.state = socks.state();
  outcome.destination = socks.destination();
  return outcome;
}

Outcome Feed(const std::string& bytes) { return Feed(bytes, bytes.size()); }

const struct {
  const char* what;
  std::string bytes;
  State state;
  std::string output;
  Socks5Destination destination = {};
} kCases[] = {
    {"a name",
     kGreeting + NameRequest("Example.COM"),
     State::kRequest,
     kChosen,
     {"example.com", 443}},
    {"a name with a last dot",
     kGreeting + NameRequest("example.com."),
     State::kRequest,
     kChosen,
     {"example.com", 443}},
    {"IPv4", kGreeting + "\5\1\0\1\xc0\0\2\1\0\x50"s, State::kRequest, kChosen, {"192.0.2.1", 80}},
    {"IPv6",
     kGreeting + "\5\1\0\4\x20\1\x0d\xb8"s + std::string(11, '\0') + "\1\xff\xff"s,
     State::kRequest,
     kChosen,
     {"2001:db8::1", 65535}},
    {"several methods", "\5\3\2\1\0"s + NameRequest("a"), State::kRequest, kChosen, {"a", 443}},
    {"SOCKS4", "\4\1\0\x50"s, State::kRefused, ""},
    {"HTTP", "GET / HTTP/1.1\r\n\r\n", State::kRefused, ""},
    {"no method", "\5\0"s, State::kRefused, "\5\xff"},
    {"a password only", "\5\1\2", State::kRefused, "\5\xff"},
    {"another version in the request", kGreeting + "\4\1\0\1"s, State::kRefused,
     kChosen + Socks5Reply(Socks5Code::kFailure)},
    {"a reserved byte", kGreeting + "\5\1\1\1", State::kRefused,
     kChosen + Socks5Reply(Socks5Code::kFailure)},
    {"BIND", kGreeting + NameRequest("a", 2), State::kRefused,
     kChosen + Socks5Reply(Socks5Code::kCommandNotSupported)},
    {"UDP", kGreeting + NameRequest("a", 3), State::kRefused,
     kChosen + Socks5Reply(Socks5Code::kCommandNotSupported)},
    {"command 0", kGreeting + NameRequest("a", 0), State::kRefused,
     kChosen + Socks5Reply(Socks5Code::kCommandNotSupported)},
    {"another type of address", kGreeting + "\5\1\0\2"s, State::kRefused,
     kChosen + Socks5Reply(Socks5Code::kAddressTypeNotSupported)},
    {"an empty name", kGreeting + NameRequest(""), State::kRefused,
     kChosen + Socks5Reply(Socks5Code::kNotAllowed)},
    {"a NUL before an allowed suffix", kGreeting + NameRequest("evil\0.google.com"s),
     State::kRefused, kChosen + Socks5Reply(Socks5Code::kNotAllowed)},
    {"a NUL at the end", kGreeting + NameRequest("google.com\0"s), State::kRefused,
     kChosen + Socks5Reply(Socks5Code::kNotAllowed)},
    {"a control character", kGreeting + NameRequest("a\r\nb"), State::kRefused,
     kChosen + Socks5Reply(Socks5Code::kNotAllowed)},
    {"a byte that is no ASCII", kGreeting + NameRequest("\xc3\xbc"), State::kRefused,
     kChosen + Socks5Reply(Socks5Code::kNotAllowed)},
    {"a name that is too long", kGreeting + NameRequest(std::string(255, 'a')), State::kRefused,
     kChosen + Socks5Reply(Socks5Code::kNotAllowed)},
};

TEST(Socks5Test, JudgesRequests) {
  for (const auto& c : kCases) {
    const Outcome outcome = Feed(c.bytes);
    EXPECT_EQ(outcome.state, c.state) << c.what;
    EXPECT_EQ(outcome.output, c.output) << c.what;
    EXPECT_EQ(outcome.destination, c.destination) << c.what;
  }
}

TEST(Socks5Test, PartsMakeNoDifference) {
  for (const auto& c : kCases) {
    const std::string bytes = c.bytes + "behind";
    const Outcome whole = Feed(bytes);
    for (size_t part = 1; part < bytes.size(); ++part) {
      EXPECT_EQ(Feed(bytes, part), whole) << c.what << ", parts of " << part;
    }
  }
}

TEST(Socks5Test, WhatIsCutOffIsNotDecided) {
  for (const auto& c : kCases) {
    if (c.state != State::kRequest) continue;
    for (size_t size = 0; size < c.bytes.size(); ++size) {
      const Outcome outcome = Feed(c.bytes.substr(0, size));
      EXPECT_EQ(outcome.state, State::kMore) << c.what << " " << size;
      EXPECT_EQ(outcome.taken, size) << c.what;
      EXPECT_EQ(outcome.destination, Socks5Destination{}) << c.what;
    }
  }
}

TEST(Socks5Test, BytesBehindTheRequestAreLeft) {
  const std::string request = kGreeting + NameRequest("a.example");
  Socks5 socks;
  EXPECT_EQ(socks.Feed(request + "\x16\3\1"), request.size());
  EXPECT_EQ(socks.Feed("more"), 0U);
  EXPECT_EQ(socks.state(), State::kRequest);
}

TEST(Socks5Test, RepliesNameTheCode) {
  EXPECT_EQ(Socks5Reply(Socks5Code::kSucceeded), "\5\0\0\1\0\0\0\0\0\0"s);
  EXPECT_EQ(Socks5Reply(Socks5Code::kNotAllowed), "\5\2\0\1\0\0\0\0\0\0"s);
  EXPECT_EQ(Socks5Reply(Socks5Code::kHostUnreachable), "\5\4\0\1\0\0\0\0\0\0"s);
}

}  // namespace
}  // namespace odyssey::egress::protocol
