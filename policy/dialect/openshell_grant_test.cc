#include <gtest/gtest.h>

#include "policy/egress/decide.h"
#include "policy/egress/policy_text.h"
#include "tests/fakes/fake_policy_host.h"

namespace odyssey::dialect::openshell {
namespace {

using egress::Connection;
using egress::Decision;

egress::NetworkPolicy Read(const std::string& text) {
  const fakes::PolicyReading reading = fakes::ReadPolicyOn(fakes::FakePolicyHost(), text, "p.yaml");
  EXPECT_EQ(reading.problems, "") << text;
  return reading.policy ? reading.policy->request.egress : egress::NetworkPolicy{};
}

constexpr char kHead[] = "version: 1\nnetwork_policies:\n";
constexpr char kRules[] = R"(  api:
    endpoints:
    - {host: api.example.com, port: 443, path: /v1/**, protocol: rest, enforcement: enforce, access: read-only}
    - {host: g.example.com, port: 443, protocol: graphql, rules: [{allow: {operation_type: query, fields: [a]}}]}
    - host: m.example.com
      port: 443
      protocol: mcp
      mcp: {strict_tool_names: false}
      rules: [{allow: {method: tools/call, tool: 'read_*'}}]
    - {host: r.example.com, port: 443, protocol: json-rpc, rules: [{allow: {method: a}}]}
    - {host: "*.example.internal", port: 443}
    binaries: [{path: /usr/bin/curl}]
)";

// The policy with the rule that was missing.
egress::NetworkPolicy With(const std::string& missing) {
  const std::string key = "network_policies:\n";
  EXPECT_EQ(missing.find(key), 0u) << missing;
  return Read(kHead + std::string(kRules) + missing.substr(std::min(key.size(), missing.size())));
}

// But where it stood.
TEST(PolicyTextTest, ReadsBackAsThePolicy) {
  const std::string more = R"(  graph:
    name: "another: name"
    endpoints:
    - host: q.example.com
      ports: [80, 8443]
      protocol: graphql
      rules: [{allow: {operation_type: mutation, operation_name: 'Do*', fields: [a, b]}}]
      deny_rules: [{fields: [secret]}]
      persisted_queries: allow_registered
      graphql_persisted_queries: {abc: {operation_type: query, operation_name: Q, fields: [a]}}
      graphql_max_body_bytes: 1000
    - {port: 5432, allowed_ips: [10.0.0.0/8, "fd12::/16"]}
    - {host: s.example.com, port: 443, protocol: rest, access: full, credential_signing: sigv4, signing_service: s3,
       signing_region: eu-west-1, enforcement: audit, allow_encoded_slash: true}
    - {host: t.example.com, port: 443, protocol: rest, access: full, credential_binding: {provider: github},
       request_body_credential_rewrite: true}
    - {host: u.example.com, port: 8443, tls: skip, budget: {max_connections: 3, bytes_up: 1000}}
    binaries:
    - {path: /**}
    - {path: "/opt/my tools/*", ancestors: false}
    - {path: /opt/tool, sha256: 0123456789012345678901234567890123456789012345678901234567890123}
network_budget: {connections_per_minute: 60, requests_per_minute: 600, bytes_down: 1000000}
)";
  egress::NetworkPolicy policy = Read(kHead + std::string(kRules) + more);
  ASSERT_EQ(policy.rules.size(), 2u);
  egress::NetworkPolicy again = Read(PolicyText(policy));
  for (egress::NetworkPolicy* one : {&policy, &again}) {
    for (egress::Rule& rule : one->rules) {
      for (egress::Endpoint& endpoint : rule.endpoints) endpoint.line = 0;
    }
  }
  EXPECT_EQ(again, policy) << PolicyText(policy);
}

TEST(SmallestGrantTest, LetsTheConnectionThrough) {
  const egress::NetworkPolicy policy = Read(kHead + std::string(kRules));
  const egress::Program python = {.path = "/opt/my python", .ancestors = {}, .known = true};
  const Connection connections[] = {
      {"new.example.com", 443, python}, {"2001:470::1", 22, python},
      {"api.example.com", 80, python},  {"api.example.com", 443, python},
      {"g.example.com", 443, python},   {"m.example.com", 443, python},
      {"r.example.com", 443, python},   {"db.example.internal", 443, python},
      {"new.example.com", 443, {}},
  };
  for (const Connection& connection : connections) {
    const Decision refused = DecideConnection(policy, connection);
    EXPECT_FALSE(refused.allowed) << connection.host;
    EXPECT_TRUE(DecideConnection(With(refused.rule_missing), connection).allowed)
        << refused.rule_missing;
  }
}

TEST(SmallestGrantTest, LetsTheRequestThrough) {
  const egress::NetworkPolicy policy = Read(kHead + std::string(kRules));
  const std::vector<egress::Field> json = {{"content-type", "application/json"}};
  const std::pair<const char*, egress::Request> cases[] = {
      {"api.example.com", {.method = "DELETE", .path = "/v1/it's \"x\""}},
      {"g.example.com",
       {.method = "POST", .path = "/", .headers = json, .body = R"({"query":"mutation{b c}"})"}},
      {"m.example.com",
       {.method = "POST",
        .path = "/",
        .headers = json,
        .body = R"({"method":"tools/call","params":{"name":"write it\n"}})"}},
      {"m.example.com",
       {.method = "POST", .path = "/", .headers = json, .body = R"({"method":"ping"})"}},
      {"r.example.com",
       {.method = "POST", .path = "/", .headers = json, .body = R"({"method":"b: c"})"}},
  };
  for (const auto& [host, request] : cases) {
    const Connection connection = {
        host, 443, {.path = "/usr/bin/curl", .ancestors = {}, .known = true}};
    const auto decide = [&](const egress::NetworkPolicy& by) {
      return DecideRequest(connection, DecideConnection(by, connection).pairs, request);
    };
    const Decision refused = decide(policy);
    EXPECT_FALSE(refused.allowed) << host;
    EXPECT_TRUE(decide(With(refused.rule_missing)).allowed) << refused.rule_missing;
  }
}

}  // namespace
}  // namespace odyssey::dialect::openshell
