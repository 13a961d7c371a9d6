#include "policy/egress/network_policy.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tests/fakes/fake_policy_host.h"

namespace odyssey::dialect::openshell {
namespace {

using fakes::FakePolicyHost;
using fakes::PolicyReading;
using fakes::ReadPolicyOn;

constexpr char kPlace[] = "p.yaml:5: network_policies.api.endpoints[0]";

PolicyReading Read(const std::string& text) {
  return ReadPolicyOn(FakePolicyHost(), "version: 1\n" + text, "p.yaml");
}

// Policies `api`, with these endpoints, one a line from line 5 on.
PolicyReading ReadEndpoints(const std::vector<std::string>& endpoints) {
  std::string text = "network_policies:\n  api:\n    endpoints:\n";
  for (const std::string& endpoint : endpoints) text += "      - {" + endpoint + "}\n";
  return Read(text + "    binaries: [{path: /usr/bin/curl}]\n");
}

// The only problem, without its place; everything if there are others.
std::string ProblemOf(const std::string& endpoint) {
  const PolicyReading reading = ReadEndpoints({endpoint});
  EXPECT_EQ(reading.policy.has_value(), reading.problems.empty());
  const bool alone = reading.problems.find('\n') == std::string::npos;
  if (!alone || reading.problems.rfind(kPlace, 0) != 0) return reading.problems;
  return reading.problems.substr(sizeof(kPlace) - 1);
}

using Cases = std::vector<std::pair<std::string, std::string>>;

void ExpectProblems(const Cases& cases) {
  for (const auto& [endpoint, problem] : cases) {
    EXPECT_NE(ProblemOf(endpoint).find(problem), std::string::npos)
        << endpoint << "\n  " << ProblemOf(endpoint);
  }
}

TEST(OpenShellNetworkTest, ReadsEveryFieldOfAnEndpoint) {
  const PolicyReading reading = ReadEndpoints(
      {"host: API.example.com., ports: [8443, 443], path: /v1/**, protocol: rest, tls: auto, "
       "enforcement: audit, rules: [{allow: {method: GET, path: /v1/*, query: {tag: v1*, "
       "kind: {any: [a, b]}}}}], deny_rules: [{method: DELETE}], allowed_ips: [10.0.0.0/8], "
       "allow_encoded_slash: true, credential_signing: sigv4:no_body, signing_service: s3, "
       "signing_region: eu, credential_binding: {provider: aws}"});
  ASSERT_EQ(reading.problems, "");
  ASSERT_EQ(reading.policy->request.egress.rules.size(), 1u);
  const egress::Rule& rule = reading.policy->request.egress.rules[0];
  EXPECT_EQ(rule.key, "api");
  EXPECT_EQ(rule.binaries, std::vector<egress::Binary>{{.path = "/usr/bin/curl"}});
  egress::Endpoint expected;
  expected.host = "api.example.com";
  expected.ports = {443, 8443};
  expected.path = "/v1/**";
  expected.protocol = egress::Protocol::kRest;
  expected.enforcement = egress::Enforcement::kAudit;
  egress::Matcher get;
  get.method = "GET";
  get.path = "/v1/*";
  get.query = {{"tag", {"v1*"}}, {"kind", {"a", "b"}}};
  expected.allow = {get};
  expected.deny.resize(1);
  expected.deny[0].method = "DELETE";
  expected.allowed_ips = {*egress::ParseRange("10.0.0.0/8")};
  expected.allow_encoded_slash = true;
  expected.credentials.signing = egress::Signing::kSigV4NoBody;
  expected.credentials.signing_service = "s3";
  expected.credentials.signing_region = "eu";
  expected.credentials.provider = "aws";
  expected.line = 5;
  expected.key = "network_policies.api.endpoints[0]";
  EXPECT_EQ(rule.endpoints, std::vector<egress::Endpoint>{expected});
  EXPECT_EQ(reading.policy->request.network, policy::Network::kEgress);
}

TEST(OpenShellNetworkTest, EnforcesUnlessAnAuditIsAskedFor) {
  const PolicyReading reading = ReadEndpoints({"host: a.b, port: 1, protocol: rest, access: full"});
  EXPECT_EQ(reading.policy->request.egress.rules[0].endpoints[0].enforcement,
            egress::Enforcement::kEnforce);
}

TEST(OpenShellNetworkTest, EveryEnumIsStrict) {
  const std::string base = "host: a.b, port: 80, protocol: rest, access: full, ";
  ExpectProblems({
      {base + "enforcement: enforc",
       ".enforcement: unknown variant `enforc`, expected one of `enforce`, `audit`"},
      {base + "enforcement: 'Enforce '",
       ".enforcement: unknown variant `Enforce `, expected one of `enforce`, `audit`"},
      {"host: a.b, port: 80, protocol: rest, access: readonly, rules: [{allow: {method: GET}}]",
       ".access: unknown variant `readonly`, expected one of `read-only`, `read-write`, `full`"},
      {base + "tls: none", ".tls: unknown variant `none`, expected one of `auto`, `skip`"},
      {"host: a.b, port: 80, protocol: REST, access: full", ".protocol: unknown variant `REST`"},
      {"host: a.b, port: 80, protocol: graphql, access: full, persisted_queries: allow",
       ".persisted_queries: unknown variant `allow`, expected one of `deny`, `allow_registered`"},
      {base + "credential_signing: sigv2", ".credential_signing: unknown variant `sigv2`"},
      {base + "colour: red", ".colour: unknown field `colour`, expected one of"},
      {base + "provider_credentialed: true", ".provider_credentialed: is internal"},
      {base + "advisor_proposed: true", ".advisor_proposed: is internal"},
  });
}

TEST(OpenShellNetworkTest, ADestinationIsAHostAndPorts) {
  ExpectProblems({
      {"host: '*.com', port: 443", ".host: `*.com` stands for too much"},
      {"host: '*', port: 443", ".host: `*` stands for too much"},
      {"host: a.b, port: 1, ports: [2]", ".port: and `ports` exclude each other"},
      {"host: a.b", ".port: missing: `port` or `ports` is required"},
      {"host: 123, port: 1", ".host: must be a string, not a number (`123`): put it in quotes"},
      {"host: a.b, port: 0", ".port: must be a port from 1 to 65535, not 0"},
      {"host: a.b, port: 65536", ".port: must be a port from 1 to 65535, not 65536"},
      {"host: a.b, port: 1.5", ".port: must be a port"},
      {"host: a.b, port: '443'",
       ".port: must be a port from 1 to 65535, a number without quotes, not `443`"},
      {"host: a.b, port: true", ".port: must be a port from 1 to 65535, not `true`"},
      {"host: a.b, ports: []", ".ports: must be a list of 1 to 64 ports"},
      {"host: a.b, ports: [1, 1]", ".ports: the port 1 is there twice"},
      {"host: a.b, ports: [1, x]", ".ports[1]: must be a port"},
      {"port: 443", ".host: missing: an endpoint has a host, or allowed_ips"},
      {"port: 443, protocol: tcp, allowed_ips: [10.0.0.0/8]", ".host: protocol tcp needs the name"},
      {"host: 10.0.0.1, port: 443, protocol: tcp", ".host: protocol tcp needs the name"},
      {"host: 127.0.0.1, port: 3128, allowed_ips: [10.0.0.0/8]",
       ".host: `127.0.0.1` is an address that no policy opens: loopback"},
      {"host: a.b, port: 3128, allowed_ips: [127.0.0.0/8]",
       ".allowed_ips[0]: `127.0.0.0/8` holds addresses that no policy opens: loopback"},
      {"host: a.b, port: 1, allowed_ips: [0.0.0.0/0]", "is every address"},
      {"host: a.b, port: 1, allowed_ips: [10.0.0.0/08]", "is no address and no range"},
  });
  EXPECT_EQ(ProblemOf("host: 123, port: 1").find('\n'), std::string::npos);
  EXPECT_EQ(ProblemOf("port: 443, allowed_ips: [10.0.0.0/8]"), "");
  EXPECT_EQ(ProblemOf("host: 10.0.0.5, port: 443"), "");
  EXPECT_EQ(ProblemOf("host: redis.test, port: 6379, protocol: tcp"), "");
  EXPECT_NE(ReadEndpoints({"host: a.b, port: 6443"}).warnings.find("cluster control planes"),
            std::string::npos);
}

TEST(OpenShellNetworkTest, AccessAndRulesExcludeEachOther) {
  const std::string rest = "host: a.b, port: 80, protocol: rest, ";
  const std::string get = "rules: [{allow: {method: GET}}]";
  ExpectProblems({
      {rest + "access: full, " + get, ".access: and `rules` exclude each other: give one"},
      {"host: a.b, port: 80, protocol: rest",
       ".protocol: rest needs `access` or `rules`: without them it allows nothing"},
      {rest + "access: full, deny_rules: []", ".deny_rules: is empty"},
      {rest + "rules: []", ".rules: is empty"},
      {"host: a.b, port: 80, " + get, ".rules: needs an inspected protocol"},
      {"host: a.b, port: 80, access: read-only", ".access: needs an inspected protocol"},
      {"host: a.b, port: 80, protocol: tcp, access: full", ".access: needs an inspected protocol"},
      {"host: a.b, port: 80, protocol: tcp, path: /x", ".path: goes with protocol rest"},
      {"host: a.b, port: 80, deny_rules: [{method: GET}]",
       ".deny_rules: needs an inspected protocol"},
      {"host: a.b, port: 80, protocol: mcp, access: full, rules: [{allow: {tool: x}}]",
       ".access: does not go with protocol mcp"},
      {"host: a.b, port: 80, protocol: json-rpc", ".protocol: json-rpc needs `rules`"},
      {"host: a.b, port: 443, protocol: rest, access: full, tls: skip",
       ".tls: `skip` leaves port 443 encrypted"},
      {"host: a.b, port: 80, protocol: sql, access: full, enforcement: enforce",
       ".enforcement: protocol sql can only be audited"},
  });
  const PolicyReading deny = ReadEndpoints({rest + "deny_rules: [{method: GET}]"});
  EXPECT_NE(deny.problems.find("deny_rules: takes away from `access` or `rules`"),
            std::string::npos);
  EXPECT_EQ(ProblemOf("host: a.b, port: 80, protocol: rest, access: full, tls: skip"), "");
  EXPECT_EQ(ProblemOf("host: a.b, port: 80, access: full"), "");
  EXPECT_EQ(ProblemOf("host: a.b, port: 80, protocol: mcp, mcp: {allow_all_known_mcp_methods: "
                      "true}, deny_rules: [{tool: rm}]"),
            "");
  const PolicyReading sql = ReadEndpoints({"host: a.b, port: 80, protocol: sql, access: full"});
  EXPECT_EQ(sql.policy->request.egress.rules[0].endpoints[0].enforcement,
            egress::Enforcement::kAudit);
  EXPECT_NE(sql.warnings.find("can only be audited"), std::string::npos);
}

TEST(OpenShellNetworkTest, AProtocolMatchesByItsOwnFields) {
  const auto with = [](const std::string& protocol, const std::string& allow) {
    return "host: a.b, port: 80, protocol: " + protocol + ", rules: [{allow: {" + allow + "}}]";
  };
  const std::string allow = ".rules[0].allow";
  ExpectProblems({
      {with("rest", "tool: x"), allow + ".tool: protocol rest does not match by it, but by"},
      {with("graphql", "method: GET"), allow + ".method: protocol graphql does not match by it"},
      {with("mcp", "path: /x"), allow + ".path: protocol mcp does not match by it"},
      {with("json-rpc", "tool: x"), allow + ".tool: protocol json-rpc does not match by it"},
      {with("rest", ""), allow + ": matches everything"},
      {with("rest", "methd: GET"), allow + ".methd: unknown field `methd`"},
      {with("rest", "path: \"/a\\tb\""), allow + ".path: path must not hold a control character"},
      {with("rest", "path: /a/../b"), allow + ".path: path must be canonical"},
      {with("rest", "query: {a: {any: []}}"), allow + ".query.a.any: is empty"},
      {with("rest", "query: {a: {some: [b]}}"), allow + ".query.a"},
      {with("rest", "method: ''"), allow + ".method: cannot be empty"},
      {with("graphql", "operation_type: read"), allow + ".operation_type: unknown variant `read`"},
      {with("json-rpc", "method: 'tools/*'"), allow + ".method: a method is exact or `*`"},
      {with("mcp", "method: 'prompts/*'"), allow + ".method: a method is exact, `*` or `tools/*`"},
      {with("mcp", "tool: x, params: {name: y}"), allow + ".tool: is the same as `params.name`"},
      {with("mcp", "tool: x, method: prompts/get"), allow + ".tool: goes with the method tools/"},
      {with("mcp", "tool: x, method: tools/list"), allow + ".tool: goes with the method tools/"},
      {with("mcp", "method: tools/list, params: {name: 'a*'}"), allow + ".params.name: a pattern"},
      {with("mcp", "method: prompts/get, params: {name: 'a*'}"), allow + ".params.name: a pattern"},
      {with("mcp", "tool: 'a b'"), allow + ".tool: must match [A-Za-z0-9_.-]{1,128}"},
      {"host: a.b, port: 80, protocol: rest, access: full, mcp: {}", ".mcp: goes with protocol"},
      {"host: a.b, port: 80, protocol: rest, access: full, json_rpc: {}",
       ".json_rpc: goes with protocol json-rpc"},
      {"host: a.b, port: 80, protocol: rest, access: full, graphql_max_body_bytes: 5",
       ".graphql_max_body_bytes: goes with protocol graphql"},
      {"host: a.b, port: 80, protocol: rest, rules: [{deny: {method: GET}}]",
       ".rules[0].allow: missing field `allow`"},
  });
  EXPECT_EQ(ProblemOf(with("mcp", "tool: 'read_*'")), "");
  EXPECT_EQ(ProblemOf(with("mcp", "tool: 'a b'") + ", mcp: {strict_tool_names: false}"), "");
  EXPECT_EQ(ProblemOf(with("sql", "command: SELECT") + ", enforcement: audit"), "");
  const PolicyReading method = ReadEndpoints({with("rest", "method: get")});
  EXPECT_NE(method.warnings.find("`get` is no method of HTTP"), std::string::npos);
}

TEST(OpenShellNetworkTest, NothingToMatchByIsEmpty) {
  const auto with = [](const std::string& protocol, const std::string& rules) {
    return "host: a.b, port: 80, protocol: " + protocol + ", " + rules;
  };
  const std::string empty = ": is empty: leave it out, or name at least one";
  ExpectProblems({
      {with("mcp", "rules: [{allow: {params: {}}}, {allow: {tool: a}}]"),
       ".rules[0].allow.params" + empty},
      {with("mcp", "rules: [{allow: {tool: a, params: {}}}]"), ".rules[0].allow.params" + empty},
      {with("mcp", "rules: [{allow: {params: {name: }}}]"), ".rules[0].allow.params" + empty},
      {with("rest", "rules: [{allow: {method: }}]"), ".rules[0].allow: matches everything"},
      {with("graphql", "rules: [{allow: {fields: []}}]"), ".rules[0].allow.fields" + empty},
      {with("graphql", "access: full, deny_rules: [{fields: []}]"),
       ".deny_rules[0].fields" + empty},
      {with("rest", "rules: [{allow: {query: {}}}]"), ".rules[0].allow.query" + empty},
      {with("rest", "rules: [{allow: {query: {a: {}}}}]"), ".rules[0].allow.query.a" + empty},
      {with("rest", "access: full, allowed_ips: []"), ".allowed_ips" + empty},
      {"port: 80, allowed_ips: []", ".allowed_ips" + empty},
      {with("graphql",
            "access: full, persisted_queries: allow_registered, "
            "graphql_persisted_queries: {h: {operation_type: query, fields: []}}"),
       ".graphql_persisted_queries.h.fields" + empty},
  });
}

TEST(OpenShellNetworkTest, ToolRulesDoNotConflict) {
  const std::string mcp = "host: a.b, port: 80, protocol: mcp, rules: [{allow: {tool: a}}";
  ExpectProblems({
      {mcp + ", {allow: {method: tools/call}}]", ".rules: a rule for tools/call without a tool"},
      {mcp + ", {allow: {method: '*'}}]", ".rules: a rule for tools/call without a tool"},
      {mcp + "], deny_rules: [{method: tools/call}]", ".deny_rules: a rule for tools/call"},
  });
  EXPECT_EQ(ProblemOf(mcp + ", {allow: {method: tools/list}}]"), "");
  EXPECT_EQ(ProblemOf(mcp + "], deny_rules: [{tool: b}]"), "");
}

TEST(OpenShellNetworkTest, ACredentialGoesWhereSomebodyLooks) {
  const std::string rest = "host: a.b, port: 80, protocol: rest, access: full, ";
  ExpectProblems({
      {"host: a.b, port: 443, credential_binding: {provider: gh}",
       "credentialed endpoint is L4-only"},
      {rest + "tls: skip, credential_binding: {provider: gh}",
       "credentialed endpoint is `tls: skip`"},
      {rest + "credential_binding: {}", ".credential_binding.provider: missing field"},
      {rest + "credential_signing: sigv4", ".credential_signing: needs a signing_service"},
      {rest + "signing_region: eu", "need credential_signing"},
      {rest + "credential_signing: 'sigv4:body', signing_service: s3, "
              "request_body_credential_rewrite: true",
       ".credential_signing: and request_body_credential_rewrite exclude each other"},
      {"host: a.b, port: 80, request_body_credential_rewrite: true", "goes with protocol rest"},
      {"host: a.b, port: 80, websocket_credential_rewrite: true", "goes with protocol websocket"},
  });
  EXPECT_EQ(ProblemOf("host: a.b, port: 443, credential_binding: {provider: gh}, "
                      "allow_uninspected_credentials: true"),
            "");
}

TEST(OpenShellNetworkTest, PersistedQueriesAreRegistered) {
  const std::string graphql = "host: a.b, port: 80, protocol: graphql, access: full, ";
  const std::string hash = "graphql_persisted_queries: {abc: {operation_type: query}}";
  ExpectProblems({
      {graphql + "persisted_queries: allow_registered", ".graphql_persisted_queries: goes with"},
      {graphql + hash, ".graphql_persisted_queries: goes with"},
      {graphql + "persisted_queries: allow_registered, graphql_persisted_queries: {abc: {}}",
       ".graphql_persisted_queries.abc.operation_type: missing field"},
      {graphql + "graphql_max_body_bytes: 0", ".graphql_max_body_bytes: must be a whole number"},
  });
  EXPECT_EQ(ProblemOf(graphql + "persisted_queries: allow_registered, " + hash), "");
}

TEST(OpenShellNetworkTest, NamesAndBinariesOfAPolicy) {
  EXPECT_EQ(Read("network_policies: {_provider_x: {endpoints: [], binaries: []}}").problems,
            "p.yaml:2: network_policies._provider_x: names that begin with `_provider_` are "
            "reserved for credential providers");
  const std::string rule = "network_policies: {a: {endpoints: [{host: a.b, port: 1}], binaries: [";
  for (const char* path : {"curl", "**", "/a/../b", "/usr/[a]"}) {
    EXPECT_NE(Read(rule + "{path: '" + path + "'}]}}").problems.find("binaries[0].path: "),
              std::string::npos)
        << path;
  }
  for (const char* path : {"curl", "**", ""}) {
    EXPECT_NE(Read(rule + "{path: '" + path + "'}]}}")
                  .problems.find("the path of a binary must begin with `/`; `/**` is any program: "
                                 "`" +
                                 std::string(path) + "`"),
              std::string::npos);
  }
  const PolicyReading none = Read(rule + "]}}");
  EXPECT_EQ(none.problems, "");
  EXPECT_NE(none.warnings.find("names no program"), std::string::npos);
  EXPECT_EQ(Read("network_policies: {}").policy->request.network, policy::Network::kNone);
}

TEST(OpenShellNetworkTest, ProgramsMayBePinnedOrCountForThemselves) {
  const auto read = [](const std::string& binary) {
    return Read("network_policies: {a: {endpoints: [{host: a.b, port: 1}], binaries: [{path: /p" +
                binary + "}]}}");
  };
  const auto binary = [&](const std::string& keys) {
    const PolicyReading reading = read(keys);
    EXPECT_EQ(reading.problems, "");
    return reading.policy->request.egress.rules[0].binaries[0];
  };
  const std::string hash(64, 'a');
  const egress::Binary pinned{.path = "/p", .sha256 = hash, .only_itself = true};
  EXPECT_EQ(binary(", sha256: " + hash), pinned);
  EXPECT_EQ(binary(", ancestors: false, sha256: " + hash), pinned);
  EXPECT_EQ(binary(", ancestors: false"), (egress::Binary{.path = "/p", .only_itself = true}));
  EXPECT_EQ(binary(", ancestors: true"), egress::Binary{.path = "/p"});

  const std::string place = "p.yaml:2: network_policies.a.binaries[0].";
  const std::string upper(64, 'A');
  for (const std::string& bad : {upper, hash + "0", hash.substr(1), std::string("sha256:") + hash,
                                 hash.substr(1) + "g", std::string()}) {
    EXPECT_EQ(read(", sha256: '" + bad + "'").problems,
              place +
                  "sha256: 64 hex digits in lower case are allowed, as sha256sum(1) prints them: "
                  "`" +
                  bad + "`");
  }
  EXPECT_NE(read(", sha256: 12").problems.find(place + "sha256: "), std::string::npos);
  EXPECT_EQ(read(", ancestors: true, sha256: " + hash).problems,
            place +
                "ancestors: beside `sha256` only `false` is allowed: a file with that content "
                "is the program itself, not one that started it");
  EXPECT_NE(read(", ancestors: 'no'").problems.find(place + "ancestors: "), std::string::npos);
  EXPECT_NE(read(", sha512: " + hash).problems.find("sha512"), std::string::npos);
}

TEST(OpenShellNetworkTest, MiddlewaresAreOrderedAndSeeTheirTraffic) {
  const auto with = [](const std::string& middlewares) {
    return Read(
               "network_policies: {a: {endpoints: [{host: s.b.c, port: 1, tls: skip}, "
               "{host: a.b.c, port: 1}], binaries: [{path: /**}]}}\nnetwork_middlewares:\n" +
               middlewares)
        .problems;
  };
  const std::string redact =
      "  redact: {middleware: openshell/regex, endpoints: {exclude: [s.b.c]}";
  EXPECT_EQ(with(redact + "}\n"), "");
  EXPECT_EQ(with(redact + ", on_error: fail_open, order: -3, config: {x: 1}}\n"), "");
  EXPECT_NE(with(redact + "}\n" + "  other: {middleware: x, endpoints: {include: [a.b.c]}}\n")
                .find("network_middlewares.other.order: 0 is the order of `redact` already"),
            std::string::npos);
  EXPECT_NE(with(redact + ", on_error: fail}\n").find("unknown variant `fail`"), std::string::npos);
  EXPECT_NE(with("  m: {middleware: x}\n").find("m: selects network_policies.a.endpoints[0]"),
            std::string::npos);
  EXPECT_NE(with("  m: {middleware: x, endpoints: {include: ['*.b.c']}}\n").find("selects"),
            std::string::npos);
  EXPECT_NE(with("  m: {endpoints: {exclude: ['**']}}\n").find("missing field `middleware`"),
            std::string::npos);
  EXPECT_NE(
      with("  m: {middleware: 'a b', endpoints: {exclude: ['**']}}\n").find("must be `openshell"),
      std::string::npos);
  std::string many;
  for (int i = 0; i < 11; ++i) many += "  m" + std::to_string(i) + ": {middleware: x}\n";
  EXPECT_NE(with(many).find("network_middlewares: more than 10 entries"), std::string::npos);
  std::string hosts;
  for (int i = 0; i < 33; ++i) hosts += "a.b" + std::to_string(i) + ".c, ";
  EXPECT_NE(with("  m: {middleware: x, endpoints: {include: [" + hosts + "]}}\n")
                .find("include: more than 32 patterns"),
            std::string::npos);
}

TEST(OpenShellNetworkTest, SaysWhatItRead) {
  const PolicyReading reading = ReadEndpoints(
      {"host: a.b, ports: [443, 80], path: /v1/**, protocol: rest, rules: [{allow: {method: GET, "
       "path: /v1/*, query: {t: {any: [x, y]}}}}], allowed_ips: [10.0.0.0/8]",
       "host: c.d, port: 22", "host: 2606:4700::1, port: 443"});
  EXPECT_EQ(reading.policy->elsewhere,
            (std::vector<std::string>{"network_policies.api.endpoints[0] on line 5: "
                                      "a.b:80,443/v1/** in 10.0.0.0/8, rest, enforce, allow GET "
                                      "/v1/* ?t=x|y, for /usr/bin/curl",
                                      "network_policies.api.endpoints[1] on line 6: c.d:22, bytes, "
                                      "enforce, for /usr/bin/curl",
                                      "network_policies.api.endpoints[2] on line 7: "
                                      "[2606:4700::1]:443, bytes, enforce, for /usr/bin/curl"}));
}

}  // namespace
}  // namespace odyssey::dialect::openshell
