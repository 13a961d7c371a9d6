#include "policy/egress/reach.h"

#include <gtest/gtest.h>

#include <utility>

#include "tests/fakes/fake_policy_host.h"

namespace odyssey::dialect::openshell {
namespace {

// "HOST PORT", "HOST PORT closed", or the error.
std::string Parsed(const std::string& text) {
  const Result<egress::Destination> parsed = egress::ParseDestination(text);
  if (!parsed.ok()) return parsed.status().message();
  return parsed->host + " " + std::to_string(parsed->port) +
         (parsed->never.empty() ? "" : " closed");
}

TEST(DestinationTest, IsAHostWithOrWithoutAPort) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"api.example.com", "api.example.com 0"}, {"API.Example.com.:443", "api.example.com 443"},
      {"10.1.2.3:65535", "10.1.2.3 65535"},     {"2001:db8::1", "2001:db8::1 0"},
      {"[2001:DB8::1]", "2001:db8::1 0"},       {"[2001:db8::1]:1", "2001:db8::1 1"},
      {"localhost:80", "localhost 80 closed"},  {"[::1]:80", "[::1] 80 closed"},
      {"2130706433", "2130706433 0 closed"},    {"a.example:6443", "a.example 6443 closed"},
  };
  for (const auto& [text, parsed] : cases) EXPECT_EQ(Parsed(text), parsed);
}

TEST(DestinationTest, RefusesWhatIsNone) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "is empty"},
      {":443", "is no host"},
      {"a.b:", "the port is"},
      {"a.b:0", "the port is"},
      {"a.b:65536", "the port is"},
      {"a.b:99999999999999999999", "the port is"},
      {"a.b:abc", "the port is"},
      {"a.b:-1", "the port is"},
      {"a.b:+1", "the port is"},
      {"a.b: 443", "the port is"},
      {"https://a.b", "the port is"},
      {"[2001:db8::1]:0", "the port is"},
      {"[2001:db8::1", "is no host"},
      {"2001:db8::1]", "is no host"},
      {"[a.b]:80", "is no host"},
      {"[]:80", "is no host"},
      {" a.b", "is no host"},
      {"a b", "is no host"},
      {"a..b", "is no host"},
      {"*.example.com", "is a pattern"},
      {"a.b\n", "holds a control character"},
      {std::string("a\0b", 3), "holds a control character"},
      {"b\xc3\xbc"
       "cher.example",
       "is no host"},
      {std::string(300, 'a') + ".b", "is no host"},
  };
  for (const auto& [text, why] : cases) {
    const std::string message = Parsed(text);
    EXPECT_NE(message.find(": " + why), std::string::npos) << message;
    EXPECT_NE(message.find("; allowed: HOST or HOST:PORT"), std::string::npos) << message;
    EXPECT_LT(message.size(), 320u);
  }
}

constexpr char kPolicy[] = R"(version: 1
network_policies:
  a:
    endpoints:
    - {host: api.example.com, ports: [80, 443]}
    - {host: '*.example.org', port: 443}
    - {host: '**.deep.example.net', port: 443}
    binaries: [{path: /usr/bin/curl}]
  b:
    endpoints:
    - {host: in.example.com, port: 443, allowed_ips: [10.0.0.0/8]}
    - {port: 8443, allowed_ips: [203.0.113.0/24, '2001:db8::/32']}
    - {host: 10.1.2.3, port: 22}
    - {host: '*.corp.internal', port: 443}
    - {host: '*.db.internal', port: 443, allowed_ips: [10.0.0.0/8]}
    - {host: one.host.local, port: 443}
    binaries: [{path: /**}]
)";

// "a0" for the first endpoint of the rule a; "?" after one that the address decides, "!" after one
// with other ports, "-" after one that opens no private network.
std::string Matches(const std::string& text) {
  const fakes::PolicyReading reading =
      fakes::ReadPolicyOn(fakes::FakePolicyHost(), kPolicy, "p.yaml");
  EXPECT_EQ(reading.problems, "");
  const Result<egress::Destination> destination = egress::ParseDestination(text);
  EXPECT_TRUE(destination.ok()) << text;
  std::string out;
  for (const egress::Match& match :
       egress::MatchesOf(reading.policy->request.egress, *destination)) {
    out += (out.empty() ? "" : " ") + match.rule->key;
    out += std::to_string(match.endpoint - match.rule->endpoints.data());
    if (match.kind == egress::MatchKind::kIfInRange) out += "?";
    if (match.kind == egress::MatchKind::kOtherPort) out += "!";
    if (match.kind == egress::MatchKind::kPrivate) out += "-";
  }
  return out;
}

TEST(DestinationTest, KnowsWhatIsPrivateWithoutAskingAnybody) {
  for (const char* host : {"10.1.2.3", "172.31.0.1", "192.168.0.1:80", "100.64.0.1", "198.18.0.1",
                           "[fd00::1]:80", "x.internal", "a.b.local:443", "router.home.arpa"}) {
    EXPECT_NE(egress::ParseDestination(host)->is_private, "") << host;
  }
  for (const char* host : {"8.8.8.8", "172.32.0.1", "2001:db8::1", "internal.example.com",
                           "example.internalx", "local.test"}) {
    EXPECT_EQ(egress::ParseDestination(host)->is_private, "") << host;
  }
  for (const char* host : {"metadata.google.internal", "instance-data.ec2.internal:80",
                           "metadata.goog", "a.localhost"}) {
    EXPECT_NE(egress::ParseDestination(host)->never, "") << host;
  }
}

TEST(DestinationTest, APatternOfAPrivateNetworkIsWarnedOf) {
  EXPECT_EQ(fakes::ReadPolicyOn(fakes::FakePolicyHost(), kPolicy, "p.yaml").warnings,
            "p.yaml:14: network_policies.b.endpoints[3].host: `*.corp.internal` matches nothing "
            "without allowed_ips: names that end in .internal are a private network's, and a "
            "pattern opens none");
}

TEST(ReachTest, ComparesHostsAndPortsAsTheFormatDoes) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"api.example.com:443", "a0 b1!"},
      {"API.EXAMPLE.COM.:80", "a0 b1!"},
      {"api.example.com", "a0 b1?"},
      {"api.example.com:22", "a0! b1!"},
      {"x.api.example.com:443", "b1!"},
      {"x.example.org:443", "a1 b1!"},
      {"example.org:443", "b1!"},
      {"x.y.example.org:443", "b1!"},
      {"deep.example.net:443", "b1!"},
      {"x.deep.example.net:443", "a2 b1!"},
      {"x.y.deep.example.net:443", "a2 b1!"},
      {"evil-example.org:443", "b1!"},
      {"in.example.com:443", "b0? b1!"},
      {"anything.test:8443", "b1?"},
      {"203.0.113.9:8443", "b1"},
      {"203.0.114.9:8443", ""},
      {"[2001:db8::9]:8443", "b1"},
      {"10.1.2.3:22", "b2"},
      {"10.1.2.3", "b2"},
      {"10.1.2.4:22", ""},
      {"x.corp.internal:443", "b1! b3-"},
      {"x.corp.internal:22", "b1! b3!"},
      {"x.db.internal:443", "b1! b4?"},
      {"one.host.local:443", "b1! b5"},
  };
  for (const auto& [text, matches] : cases) EXPECT_EQ(Matches(text), matches) << text;
}

}  // namespace
}  // namespace odyssey::dialect::openshell
