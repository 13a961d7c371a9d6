#include <gtest/gtest.h>

#include "policy/egress/decide.h"

namespace odyssey::egress {
namespace {

constexpr uint16_t kPort = 443;

struct Case {
  const char* id;
  const char* host;         // of the endpoint
  const char* allowed_ips;  // a range, or ""
  std::vector<std::string> addresses;
  const char* answer;  // "allowed", or a part of the reason
};

Decision Decide(const Case& one, uint16_t port = kPort) {
  Endpoint endpoint{.host = one.host, .ports = {port}, .key = "e"};
  if (*one.allowed_ips != '\0') endpoint.allowed_ips = {*ParseRange(one.allowed_ips)};
  const Rule rule{.key = "r", .name = "r", .endpoints = {}, .binaries = {{.path = "/**"}}};
  std::vector<AddressRange> addresses;
  for (const std::string& text : one.addresses) addresses.push_back(*ParseAddress(text));
  const Connection connection{"h.example.com", port, {.path = "/usr/bin/curl", .known = true}};
  Decision decision = DecideAddresses(connection, {{&rule, &endpoint}}, addresses,
                                      {*ParseAddress("203.0.113.77"), *ParseAddress("8.8.4.4")});
  for (Pair& pair : decision.pairs) pair = {};
  return decision;
}

TEST(DecideAddressesTest, OpensWhatEachOfTheAddressesMayBe) {
  const std::string mixed = "and other addresses of the name are not";
  const std::vector<Case> cases = {
      {"public", "*.example.com", "", {"8.8.8.8", "2606:4700::1"}, "allowed"},
      {"P-26", "*.example.com", "", {"10.1.2.3"}, "a pattern of hosts does not open"},
      {"exact", "h.example.com", "", {"10.1.2.3"}, "allowed"},
      {"exact", "h.example.com", "", {"fd12::1"}, "allowed"},
      {"P-29", "10.1.2.3", "", {"10.1.2.3"}, "allowed"},
      {"P-27", "h.example.com", "10.0.0.0/8", {"10.1.2.3"}, "allowed"},
      {"P-27", "h.example.com", "10.0.0.0/8", {"203.0.113.10"}, "allowed_ips check failed"},
      {"P-27", "", "10.0.0.0/8", {"10.1.2.3"}, "allowed"},
      {"P-27", "", "10.0.0.0/8", {"11.1.2.3"}, "allowed_ips check failed"},
      {"P-27", "", "10.0.0.0/8", {"10.1.2.3", "11.1.2.3"}, "allowed_ips check failed"},
      {"pattern", "*.example.com", "10.0.0.0/8", {"10.1.2.3"}, "allowed"},
      {"mixed", "*.example.com", "", {"8.8.8.8", "192.168.0.1"}, "does not open"},
      {"mixed", "h.example.com", "", {"8.8.8.8", "192.168.0.1"}, mixed.c_str()},
      {"mixed", "h.example.com", "", {"8.8.8.8", "127.0.0.1"}, "loopback"},
      {"none", "h.example.com", "", {}, "no address"},
      {"cgnat", "*.example.com", "", {"100.64.0.1"}, "does not open"},
      {"testnet", "*.example.com", "", {"192.0.2.1"}, "does not open"},
      {"benchmark", "*.example.com", "", {"198.18.0.1"}, "does not open"},
      {"own", "h.example.com", "", {"8.8.4.4"}, "this machine"},
      {"own", "", "203.0.113.0/24", {"203.0.113.77"}, "this machine"},
  };
  for (const Case& one : cases) {
    const Decision decision = Decide(one);
    if (std::string(one.answer) == "allowed") {
      EXPECT_TRUE(decision.allowed) << one.id << ": " << decision.reason;
      continue;
    }
    EXPECT_FALSE(decision.allowed) << one.id << " " << one.addresses.size();
    EXPECT_NE(decision.reason.find(one.answer), std::string::npos) << decision.reason;
  }
}

TEST(DecideAddressesTest, ClosesSomeInEveryMode) {
  const char* const closed[] = {"0.0.0.0",
                                "127.0.0.1",
                                "127.255.0.1",
                                "169.254.169.254",
                                "224.0.0.1",
                                "240.0.0.1",
                                "255.255.255.255",
                                "168.63.129.16",
                                "100.100.100.200",
                                "192.0.0.192",
                                "::",
                                "::1",
                                "::7f00:1",
                                "::ffff:8.8.8.8",
                                "::ffff:127.0.0.1",
                                "64:ff9b::7f00:1",
                                "64:ff9b:1::7f00:1",
                                "2001:0:1::1",
                                "2002:7f00:1::",
                                "fe80::1",
                                "fec0::1",
                                "ff02::1",
                                "fd00:ec2::254",
                                "2606::5efe:7f00:1",
                                "2606::200:5efe:a00:1"};
  for (const char* address : closed) {
    for (const char* host : {"h.example.com", "*.example.com"}) {
      const Decision decision = Decide({"", host, "", {address}, ""});
      EXPECT_EQ(decision.refusal, Refusal::kSsrfDenied) << address;
      EXPECT_NE(decision.reason.find("no policy opens"), std::string::npos) << decision.reason;
    }
  }
}

TEST(DecideAddressesTest, ClosesPortsOfControlPlanes) {
  for (const uint16_t port : {2379, 2380, 6443, 10250, 10255}) {
    const Case allowed = {"P-28", "", "203.0.113.0/24", {"203.0.113.10"}, ""};
    EXPECT_EQ(Decide(allowed, port).refusal, Refusal::kSsrfDenied) << port;
    EXPECT_EQ(Decide({"", "h.example.com", "", {"8.8.8.8"}, ""}, port).refusal,
              Refusal::kSsrfDenied);
  }
}

TEST(DecideAddressesTest, DropsThePairsThatDoNotOpenTheAddress) {
  const Endpoint exact{.host = "h.example.com", .ports = {kPort}, .key = "exact"};
  const Endpoint ranged{
      .ports = {kPort}, .protocol = Protocol::kRest, .allowed_ips = {*ParseRange("10.0.0.0/8")}};
  const Rule rule;
  const Connection connection{"h.example.com", kPort, {}};
  const Decision decision = DecideAddresses(connection, {{&rule, &ranged}, {&rule, &exact}},
                                            {*ParseAddress("8.8.8.8")}, {});
  ASSERT_EQ(decision.pairs.size(), 1u);
  EXPECT_EQ(decision.pairs[0].endpoint, &exact);
  EXPECT_FALSE(decision.inspected);
}

}  // namespace
}  // namespace odyssey::egress
