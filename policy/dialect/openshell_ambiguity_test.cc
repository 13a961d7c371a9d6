#include "policy/dialect/openshell_ambiguity.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/fakes/fake_policy_host.h"

namespace odyssey::dialect::openshell {
namespace {

// The problems of a policy.
std::string Read(const std::string& text) {
  return fakes::ReadPolicyOn(fakes::FakePolicyHost(), "version: 1\n" + text, "p.yaml").problems;
}

// Of a policy `api` with these endpoints, one a line from line 5 on.
std::string ProblemsOf(const std::vector<std::string>& endpoints) {
  std::string text = "network_policies:\n  api:\n    endpoints:\n";
  for (const std::string& endpoint : endpoints) text += "      - {" + endpoint + "}\n";
  return Read(text + "    binaries: [{path: /usr/bin/curl}]\n");
}

TEST(OpenShellAmbiguityTest, OverlappingEndpointsAreTreatedAlike) {
  const std::string rest = "host: api.example.com, port: 443, protocol: rest, access: full";
  const auto ambiguity = [](const std::string& a, const std::string& b) {
    const std::string problems = ProblemsOf({a, b});
    const size_t at = problems.find("ambiguity validation failed: ");
    return at == std::string::npos ? problems : problems.substr(at + 29);
  };
  const std::string overlaps =
      "overlaps network_policies.api.endpoints[0] on line 5, with another ";
  EXPECT_EQ(ambiguity(rest, rest), "");
  EXPECT_EQ(ambiguity(rest, "host: API.example.com., port: 443"), overlaps + "protocol");
  EXPECT_EQ(ambiguity(rest, "host: '*.example.com', port: 443"), overlaps + "protocol");
  EXPECT_EQ(ambiguity(rest, "host: '*.example.com', port: 8443"), "");
  EXPECT_EQ(ambiguity("host: a.b, port: 1", "host: a.b, ports: [1, 2], tls: skip"),
            overlaps + "tls");
  EXPECT_EQ(ambiguity("host: a.b, port: 1", "host: a.b, port: 1, allowed_ips: [10.0.0.0/8]"),
            overlaps + "allowed_ips");
  EXPECT_EQ(ambiguity(rest, rest + ", enforcement: audit"), overlaps + "enforcement");
  EXPECT_EQ(ambiguity(rest, rest + ", allow_encoded_slash: true"),
            overlaps + "allow_encoded_slash");
  // A path tells requests apart, the more particular one first.
  const std::string graphql = "host: api.example.com, port: 443, protocol: graphql, access: full";
  EXPECT_EQ(ambiguity(rest, graphql + ", path: /graphql"), "");
  EXPECT_EQ(ambiguity(rest, graphql), overlaps + "protocol");
  EXPECT_EQ(ambiguity(rest + ", path: /a/*", graphql + ", path: '/*/b'"), overlaps + "protocol");
  EXPECT_EQ(ambiguity(rest + ", path: /a/*", graphql + ", path: /b/*"), "");
}

TEST(OpenShellAmbiguityTest, AnEndpointWithoutAHostOverlapsWhatLeadsIntoItsRanges) {
  const auto overlaps = [](const std::string& range, const std::string& other) {
    const std::string any_host = "port: 443, allowed_ips: [" + range + "]";
    bool found = false;
    for (const auto& order : {std::vector{any_host, other}, std::vector{other, any_host}}) {
      const std::string problems = ProblemsOf(order);
      found = problems.find("ambiguity validation failed: ") != std::string::npos;
      EXPECT_EQ(found, !problems.empty()) << problems;
    }
    return found;
  };
  const std::string rest = ", port: 443, protocol: rest, access: read-only";
  for (const char* other : {"host: 10.1.2.3", "host: api.example.com, allowed_ips: [10.0.0.0/8]",
                            "host: '*.example.com', allowed_ips: [10.1.0.0/16]",
                            "host: '*.example.com', allowed_ips: [192.168.0.0/16, 8.0.0.0/6]",
                            "host: api.example.com", "allowed_ips: [10.1.2.3]"}) {
    EXPECT_TRUE(overlaps("10.0.0.0/8", other + rest)) << other;
  }
  for (const char* other :
       {"host: 11.1.2.3", "host: '*.example.com'", "host: '2001:db8::1'",
        "host: api.example.com, allowed_ips: [192.168.0.0/16]",
        "host: 10.1.2.3, allowed_ips: [10.2.0.0/16]", "allowed_ips: [192.168.0.0/16]"}) {
    EXPECT_FALSE(overlaps("10.0.0.0/8", other + rest)) << other;
  }
  EXPECT_TRUE(overlaps("93.184.0.0/16", "host: '*.example.com'" + rest));
  EXPECT_TRUE(overlaps("8.0.0.0/6", "host: '*.example.com'" + rest));
  EXPECT_TRUE(overlaps("10.0.0.0/8", "host: 10.1.2.3, tls: skip, port: 443"));
  EXPECT_FALSE(overlaps("10.0.0.0/8", "host: 10.1.2.3, tls: skip, port: 80"));
}

TEST(OpenShellAmbiguityTest, BinariesDoNotTellEndpointsApart) {
  const std::string text =
      "network_policies:\n"
      "  a: {endpoints: [{host: a.b, port: 1}], binaries: [{path: /usr/bin/curl}]}\n"
      "  b: {endpoints: [{host: a.b, port: 1, tls: skip}], binaries: [{path: /usr/bin/git}]}\n";
  EXPECT_EQ(Read(text),
            "p.yaml:4: network_policies.b.endpoints[0]: network endpoint ambiguity validation "
            "failed: overlaps network_policies.a.endpoints[0] on line 3, with another tls");
}

}  // namespace
}  // namespace odyssey::dialect::openshell
