#include "policy/destination/destination_check.h"

#include <gtest/gtest.h>

#include "tests/fakes/fake_policy_host.h"

namespace odyssey::destination {
namespace {

constexpr char kEndpoints[] = R"(version: 1
network_policies:
  api:
    endpoints:
    - {host: api.example.com, port: 443, protocol: rest, access: read-only}
    - {host: in.example.com, port: 443, allowed_ips: [10.0.0.0/8]}
    binaries: [{path: /usr/bin/curl}]
  wide:
    endpoints: [{host: '*.example.internal', port: 443}]
    binaries: [{path: /usr/bin/curl}]
  nobody:
    endpoints: [{host: no.example.com, port: 80}]
)";

rules::Decision Decide(const std::string& text, const std::string& host) {
  const fakes::PolicyReading reading = fakes::ReadPolicyOn(fakes::FakePolicyHost(), text, "p.yaml");
  EXPECT_EQ(reading.problems, "");
  const auto destination = egress::ParseDestination(host);
  EXPECT_TRUE(destination.ok()) << host;
  return DecideByEndpoints(reading.policy->request.egress, reading.policy->origins, *destination);
}

TEST(DestinationCheckTest, NamesTheEndpointItsProgramsAndItsLine) {
  const rules::Decision decision = Decide(kEndpoints, "api.example.com:443");
  EXPECT_EQ(decision.verdict, rules::Verdict::kAllow);
  EXPECT_EQ(decision.rule, "network egress");
  EXPECT_EQ(decision.reason,
            "an endpoint lets it through: p.yaml:5: network_policies.api.endpoints[0] allows it "
            "(api.example.com:443, rest, enforce, access read-only, for /usr/bin/curl)");
  EXPECT_NE(Decide(kEndpoints, "in.example.com")
                .reason.find("p.yaml:6: network_policies.api."
                             "endpoints[1] allows it if the name "
                             "leads into its allowed_ips ("),
            std::string::npos);
}

TEST(DestinationCheckTest, SaysWhyEveryProgramIsRefused) {
  EXPECT_EQ(Decide(kEndpoints, "example.com").reason,
            "the endpoints refuse it to every program: no endpoint names it");
  const rules::Decision port = Decide(kEndpoints, "api.example.com:8443");
  EXPECT_EQ(port.rule, "network egress");
  EXPECT_EQ(port.reason.find("the endpoints refuse it to every program: p.yaml:5: network_policies."
                             "api.endpoints[0] names the host with other ports ("),
            0u);
  EXPECT_NE(Decide(kEndpoints, "no.example.com:80").reason.find("allows it to no program"),
            std::string::npos);
  EXPECT_EQ(Decide(kEndpoints, "127.0.0.1").reason,
            "closed whatever a policy says: `127.0.0.1` is an address that no policy opens: "
            "loopback");
}

TEST(DestinationCheckTest, APatternOpensNoPrivateNetwork) {
  EXPECT_EQ(
      Decide(kEndpoints, "db.example.internal:443")
          .reason.find("the endpoints refuse it to every program: p.yaml:9: "
                       "network_policies.wide.endpoints[0] refuses it: it has a pattern of "
                       "hosts, which opens no private network, and no allowed_ips; names that "
                       "end in .internal are a private network's ("),
      0u)
      << Decide(kEndpoints, "db.example.internal:443").reason;
}

TEST(DestinationCheckTest, RulesOfNetworkSpeakOfWhatNoEndpointNames) {
  const auto rules = rules::Parse({}, {"Network(*.example.org)"}, {"Network(no.example.org)"});
  ASSERT_TRUE(rules.ok());
  const fakes::PolicyReading reading =
      fakes::ReadPolicyOn(fakes::FakePolicyHost(), kEndpoints, "p.yaml");
  const egress::NetworkPolicy& policy = reading.policy->request.egress;
  const auto decide = [&](const std::string& host) {
    const egress::Destination to = *egress::ParseDestination(host);
    return DecideByNetworkRules(*rules, policy, to,
                                DecideByEndpoints(policy, reading.policy->origins, to));
  };
  EXPECT_EQ(decide("a.example.org:443").verdict, rules::Verdict::kAsk);
  EXPECT_EQ(decide("a.example.org:443").rule, "Network(*.example.org)");
  EXPECT_EQ(decide("no.example.org:443").verdict, rules::Verdict::kDeny);
  EXPECT_EQ(decide("no.example.org:443").rule, "Network(no.example.org)");
  // An endpoint names these.
  EXPECT_EQ(decide("api.example.com:443").verdict, rules::Verdict::kAllow);
  EXPECT_EQ(decide("no.example.com:80").rule, "network egress");
}

}  // namespace
}  // namespace odyssey::destination
