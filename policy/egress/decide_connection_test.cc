#include <gtest/gtest.h>

#include <optional>

#include "policy/egress/decide.h"
#include "policy/egress/reach.h"

namespace odyssey::egress {
namespace {

constexpr char kCurl[] = "/usr/bin/curl";
constexpr char kPython[] = "/usr/bin/python3.11";

Endpoint To(const std::string& host, std::vector<uint16_t> ports, const std::string& key = "e") {
  return {.host = host, .ports = std::move(ports), .key = key};
}

Rule For(const std::string& key, std::vector<Endpoint> endpoints,
         const std::vector<std::string>& paths) {
  Rule rule{.key = key, .name = key, .endpoints = std::move(endpoints), .binaries = {}};
  for (const std::string& path : paths) rule.binaries.push_back({.path = path});
  return rule;
}

Connection By(const std::string& program, const std::string& host, uint16_t port) {
  return {host, port, {.path = program, .ancestors = {}, .known = true}};
}

// "allowed a b" with the keys of the endpoints, or the code.
std::string Answer(const NetworkPolicy& policy, const Connection& connection) {
  const Decision decision = DecideConnection(policy, connection);
  if (!decision.allowed) {
    EXPECT_TRUE(decision.pairs.empty());
    EXPECT_NE(decision.reason, "");
    return std::string(CodeOf(decision.refusal));
  }
  EXPECT_EQ(decision.reason + decision.rule_missing, "");
  std::string out = "allowed";
  for (const Pair& pair : decision.pairs) out += " " + pair.endpoint->key;
  return out;
}

struct Case {
  const char* id;  // of the contract's cases
  Connection connection;
  const char* answer;
};

TEST(DecideConnectionTest, NeedsOneRuleForHostPortAndProgram) {
  const NetworkPolicy policy = {
      .rules = {For("a", {To("h1.example.com", {443}, "a0")}, {kCurl}),
                For("b", {To("h2.example.com", {443}, "b0")}, {kPython}),
                For("ports", {To("p.example.com", {80, 443}, "p0")}, {kCurl}),
                For("one", {To("*.example.org", {443}, "one")}, {"/**"}),
                For("deep", {To("**.example.net", {443}, "deep")}, {"/**"}),
                For("both", {To("p.example.com", {443}, "p1")}, {"/usr/bin/*"}),
                For("none", {To("n.example.com", {443}, "n0")}, {})},
      .middlewares = {}};
  const Case cases[] = {
      {"P-13", By(kCurl, "h1.example.com", 443), "allowed a0"},
      {"P-13", By(kPython, "h1.example.com", 443), "policy_denied"},
      {"P-14", By(kCurl, "h1.example.com", 8443), "policy_denied"},
      {"P-15", By(kCurl, "h2.example.com", 443), "policy_denied"},
      {"P-16", By(kCurl, "p.example.com", 80), "allowed p0"},
      {"P-16", By(kCurl, "p.example.com", 443), "allowed p0 p1"},
      {"P-16", By(kCurl, "p.example.com", 22), "policy_denied"},
      {"P-17", By(kCurl, "api.example.org", 443), "allowed one"},
      {"P-17", By(kCurl, "example.org", 443), "policy_denied"},
      {"P-17", By(kCurl, "a.b.example.org", 443), "policy_denied"},
      {"P-17", By(kCurl, "a.b.example.net", 443), "allowed deep"},
      {"P-17", By(kCurl, "example.net", 443), "policy_denied"},
      {"empty", By(kCurl, "n.example.com", 443), "policy_denied"},
      {"binary", By("/usr/bin/x/y", "p.example.com", 443), "policy_denied"},
      {"suffix", By(kCurl, "api.example.org.evil.test", 443), "policy_denied"},
  };
  for (const Case& one : cases) {
    EXPECT_EQ(Answer(policy, one.connection), one.answer) << one.id << " " << one.connection.host;
  }
  EXPECT_EQ(Answer({}, By(kCurl, "h1.example.com", 443)), "policy_denied") << "P-12";
}

TEST(DecideConnectionTest, AnAncestorCountsAndArgvDoesNot) {
  const NetworkPolicy policy = {
      .rules = {For("g", {To("git.example.com", {443})}, {"/usr/bin/git"}),
                For("d", {To("d.example.com", {443})}, {"/opt/**/run"})},
      .middlewares = {}};
  // P-23: the kernel's name of the executable is not what argv[0] claims.
  EXPECT_EQ(Answer(policy, By("/bin/other", "git.example.com", 443)), "policy_denied");
  Connection child = By("/usr/lib/git-core/git-remote-https", "git.example.com", 443);
  EXPECT_EQ(Answer(policy, child), "policy_denied");
  child.program.ancestors = {"/usr/bin/make", "/usr/bin/git"};
  EXPECT_EQ(Answer(policy, child), "allowed e");
  EXPECT_EQ(Answer(policy, By("/opt/a/b/run", "d.example.com", 443)), "allowed e");
  EXPECT_EQ(Answer(policy, By("/opt/run", "d.example.com", 443)), "allowed e");
  EXPECT_EQ(Answer(policy, By("/opt/a/running", "d.example.com", 443)), "policy_denied");
}

const std::string kGood(64, 'a');
const std::string kBad(64, 'b');

NetworkPolicy Pinned(const std::string& path) {
  Rule rule = For("p", {To("p.example.com", {443})}, {});
  rule.binaries = {{.path = path, .sha256 = kGood, .only_itself = true}};
  return {.rules = {rule}};
}

Connection With(const std::string& program, const std::string& sha256) {
  Connection out = By(program, "p.example.com", 443);
  out.program.sha256 = sha256;
  return out;
}

TEST(DecideConnectionTest, APinIsMetByTheFileWithThatContentAlone) {
  const NetworkPolicy policy = Pinned(kCurl);
  EXPECT_EQ(Answer(policy, With(kCurl, kGood)), "allowed e");
  EXPECT_EQ(Answer(policy, With(kCurl, kBad)), "policy_denied");
  EXPECT_EQ(Answer(policy, With(kCurl, "")), "policy_denied") << "the hash is not known";
  EXPECT_EQ(Answer(policy, With("/opt/curl", kGood)), "policy_denied") << "another path";
  EXPECT_EQ(Answer(Pinned("/opt/*"), With("/opt/a", kGood)), "allowed e");
  EXPECT_EQ(Answer(Pinned("/**"), With("/opt/a", kBad)), "policy_denied");
  EXPECT_EQ(Answer(Pinned("/**"), {"p.example.com", 443, {}}), "policy_denied") << "not known";
}

TEST(DecideConnectionTest, AnotherRuleWithoutAPinIsEnough) {
  NetworkPolicy policy = Pinned(kCurl);
  policy.rules.push_back(For("free", {To("p.example.com", {443}, "free")}, {"/usr/bin/*"}));
  EXPECT_EQ(Answer(policy, With(kCurl, kBad)), "allowed free");
  EXPECT_EQ(Answer(policy, With(kCurl, kGood)), "allowed e free");
}

TEST(DecideConnectionTest, WhatAPinnedProgramStartedIsNotPinned) {
  NetworkPolicy policy = Pinned(kCurl);
  Connection child = With("/usr/bin/other", kGood);
  child.program.ancestors = {kCurl};
  EXPECT_EQ(Answer(policy, child), "policy_denied");
  child.program.sha256.clear();
  EXPECT_EQ(Answer(policy, child), "policy_denied");
  // Also if a caller left out what a pin implies.
  policy.rules[0].binaries[0].only_itself = false;
  EXPECT_EQ(Answer(policy, child), "policy_denied");
}

TEST(DecideConnectionTest, ARuleMayBeForTheProgramItselfAlone) {
  NetworkPolicy policy = {.rules = {For("g", {To("p.example.com", {443})}, {"/usr/bin/git"})}};
  Connection child = By("/usr/lib/git-core/git-remote-https", "p.example.com", 443);
  child.program.ancestors = {"/usr/bin/git"};
  EXPECT_EQ(Answer(policy, child), "allowed e");
  policy.rules[0].binaries[0].only_itself = true;
  EXPECT_EQ(Answer(policy, child), "policy_denied");
  EXPECT_EQ(Answer(policy, By("/usr/bin/git", "p.example.com", 443)), "allowed e");
  EXPECT_NE(DecideConnection(policy, child)
                .reason.find("e is for /usr/bin/git itself; the program "
                             "is /usr/lib/git-core/git-remote-https"),
            std::string::npos);
}

TEST(DecideConnectionTest, ARefusalNamesThePin) {
  const Decision other = DecideConnection(Pinned(kCurl), With(kCurl, kBad));
  EXPECT_EQ(other.reason,
            "/usr/bin/curl may not connect to p.example.com:443: e is for /usr/bin/curl (pinned); "
            "the file of /usr/bin/curl has sha256 " +
                kBad + ", the rule pins " + kGood);
  EXPECT_NE(other.rule_missing.find("    - path: /usr/bin/curl\n      sha256: " + kBad + "\n"),
            std::string::npos)
      << other.rule_missing;
  const Decision unknown = DecideConnection(Pinned(kCurl), With(kCurl, ""));
  EXPECT_NE(unknown.reason.find("; the file of /usr/bin/curl was not hashed while it was executed, "
                                "the rule pins " +
                                kGood),
            std::string::npos)
      << unknown.reason;
  EXPECT_EQ(unknown.rule_missing, "") << "it would drop the pin";
  const Decision elsewhere = DecideConnection(Pinned(kCurl), With("/opt/curl", ""));
  EXPECT_EQ(elsewhere.reason.find("sha256"), std::string::npos) << elsewhere.reason;
}

TEST(DecideConnectionTest, FilesAreHashedForRulesWithAPin) {
  EXPECT_TRUE(IsPinned(Pinned("/usr/bin/*"), kCurl));
  EXPECT_FALSE(IsPinned(Pinned("/opt/*"), kCurl));
  EXPECT_FALSE(IsPinned({.rules = {For("g", {}, {kCurl})}}, kCurl));
  EXPECT_TRUE(HasPins(Pinned("/opt/*")));
  EXPECT_FALSE(HasPins({.rules = {For("g", {}, {kCurl})}}));
}

TEST(DecideConnectionTest, AnUnknownProgramNeedsARuleForAny) {
  const NetworkPolicy policy = {
      .rules = {For("c", {To("a.example.com", {443})}, {kCurl, "/usr/**"}),
                For("any", {To("b.example.com", {443})}, {"/**"})},
      .middlewares = {}};
  const Connection closed = {
      "a.example.com", 443, {.path = kCurl, .ancestors = {}, .known = false}};
  EXPECT_EQ(Answer(policy, closed), "policy_denied");
  EXPECT_EQ(Answer(policy, {"b.example.com", 443, {}}), "allowed e");
  const Decision decision = DecideConnection(policy, closed);
  EXPECT_EQ(decision.reason,
            "a program that is not known may not connect to a.example.com:443: e is for "
            "/usr/bin/curl /usr/**; only a rule for any program (`/**`) matches an unknown one");
}

TEST(DecideConnectionTest, ClosesHostsWhateverThePolicySays) {
  const NetworkPolicy policy = {
      .rules = {For(
          "w",
          {To("**.google.internal", {80, 443, 6443}),
           To("*.example.com", {443, 2379}),
           {.ports = {443, 6443}, .allowed_ips = {*ParseRange("203.0.113.0/24")}, .key = "e"}},
          {"/**"})},
      .middlewares = {}};
  const std::pair<std::string, std::string> cases[] = {
      {"127.0.0.1", "ssrf_denied"},  // P-25
      {"localhost", "ssrf_denied"},
      {"x.localhost", "ssrf_denied"},
      {"0.0.0.0", "ssrf_denied"},
      {"::", "ssrf_denied"},
      {"::1", "ssrf_denied"},
      {"::ffff:10.0.0.1", "ssrf_denied"},
      {"169.254.169.254", "ssrf_denied"},
      {"metadata.google.internal", "ssrf_denied"},
      {"2130706433", "ssrf_denied"},
      {"0x7f.1", "ssrf_denied"},
      {"127.1", "ssrf_denied"},
      {"100.100.100.200", "ssrf_denied"},
      {"168.63.129.16", "ssrf_denied"},
      {"API.example.com", "malformed_request"},
      {"api.example.com.", "malformed_request"},  // B-11
      {"", "malformed_request"},
      {"a..example.com", "malformed_request"},
      {"*.example.com", "malformed_request"},
      {"[2001:db8::1]", "malformed_request"},
      {"fe80::1%eth0", "malformed_request"},
      {std::string("evil\0.example.com", 17), "malformed_request"},
      {"user@api.example.com", "malformed_request"},
      {"a.example.com#b.example.com", "malformed_request"},
      {"b\xc3\xbc"
       "cher.example.com",
       "malformed_request"},
  };
  for (const auto& [host, code] : cases)
    EXPECT_EQ(Answer(policy, By(kCurl, host, 443)), code) << host;
  // P-28, and with a name.
  EXPECT_EQ(Answer(policy, By(kCurl, "203.0.113.10", 6443)), "ssrf_denied");
  EXPECT_EQ(Answer(policy, By(kCurl, "a.example.com", 2379)), "ssrf_denied");
  EXPECT_EQ(Answer(policy, By(kCurl, "203.0.113.10", 443)), "allowed e");
}

TEST(DecideConnectionTest, APatternOpensNoPrivateNetwork) {
  Endpoint ranged = To("*.corp.internal", {8443}, "ranged");
  ranged.allowed_ips = {*ParseRange("10.0.0.0/8")};
  const NetworkPolicy policy = {
      .rules = {For("w",
                    {To("*.corp.internal", {443}, "wide"), To("db.corp.internal", {443}, "exact"),
                     ranged, To("10.1.2.3", {443}, "literal")},
                    {kCurl})},
      .middlewares = {}};
  EXPECT_EQ(Answer(policy, By(kCurl, "x.corp.internal", 443)), "ssrf_denied");
  EXPECT_EQ(Answer(policy, By(kCurl, "db.corp.internal", 443)), "allowed exact");
  EXPECT_EQ(Answer(policy, By(kCurl, "x.corp.internal", 8443)), "allowed ranged");
  EXPECT_EQ(Answer(policy, By(kCurl, "10.1.2.3", 443)), "allowed literal") << "P-29";
  EXPECT_EQ(DecideConnection(policy, By(kCurl, "x.corp.internal", 443)).reason,
            "/usr/bin/curl may not connect to x.corp.internal:443: wide names the host by a "
            "pattern, which opens no private network: names that end in .internal are a private "
            "network's");
}

TEST(DecideConnectionTest, SaysWhatIsMissingAndTheSmallestGrant) {
  const NetworkPolicy policy = {.rules = {For("a", {To("h.example.com", {443}, "a0")}, {kCurl})},
                                .middlewares = {}};
  const Decision host = DecideConnection(policy, By(kPython, "x.example.com", 443));
  EXPECT_EQ(host.reason,
            "/usr/bin/python3.11 may not connect to x.example.com:443: no rule names the host");
  EXPECT_EQ(host.rule_missing,
            "network_policies:\n"
            "  allow_x_example_com_443:\n"
            "    endpoints:\n"
            "    - host: x.example.com\n"
            "      port: 443\n"
            "    binaries:\n"
            "    - path: /usr/bin/python3.11\n");
  EXPECT_EQ(DecideConnection(policy, By(kCurl, "h.example.com", 22)).reason,
            "/usr/bin/curl may not connect to h.example.com:22: a0 names the host with other "
            "ports: 443");
  EXPECT_EQ(DecideConnection(policy, By(kPython, "h.example.com", 443)).reason,
            "/usr/bin/python3.11 may not connect to h.example.com:443: a0 is for /usr/bin/curl; "
            "the program is /usr/bin/python3.11, as the kernel names it: symbolic links are "
            "resolved, and argv does not count");
  EXPECT_EQ(DecideConnection({}, By(kCurl, "h.example.com", 443)).reason,
            "/usr/bin/curl may not connect to h.example.com:443: the policy has no rules for the "
            "network");
  EXPECT_EQ(DecideConnection(policy, By(kCurl, "127.0.0.1", 443)).rule_missing, "");
}

TEST(DecideConnectionTest, RefusesCredentialsThatNothingInspects) {
  Endpoint bound = To("a.example.com", {443});
  bound.credentials.provider = "github";
  const auto decide = [&](const Endpoint& endpoint) {
    return Answer({.rules = {For("a", {endpoint}, {kCurl})}, .middlewares = {}},
                  By(kCurl, "a.example.com", 443));
  };
  EXPECT_EQ(decide(bound), "uninspected_credentials");
  bound.protocol = Protocol::kRest;
  EXPECT_EQ(decide(bound), "allowed e");
  bound.tls = Tls::kSkip;
  EXPECT_EQ(decide(bound), "uninspected_credentials");
  bound.credentials.allow_uninspected = true;
  EXPECT_EQ(decide(bound), "allowed e");
  bound.protocol = Protocol::kSql;
  EXPECT_EQ(decide(bound), "unsupported_l7_protocol");
}

TEST(DecideConnectionTest, IsInspectedIfAnEndpointIs) {
  Endpoint rest = To("a.example.com", {443});
  rest.protocol = Protocol::kRest;
  const Endpoint bytes = To("a.example.com", {443});
  const NetworkPolicy both = {.rules = {For("a", {bytes, rest}, {kCurl})}, .middlewares = {}};
  EXPECT_TRUE(DecideConnection(both, By(kCurl, "a.example.com", 443)).inspected);
  const NetworkPolicy l4 = {.rules = {For("a", {bytes}, {kCurl})}, .middlewares = {}};
  EXPECT_FALSE(DecideConnection(l4, By(kCurl, "a.example.com", 443)).inspected);
}

// `policy check --host` asks without a program; what it answers is what a program gets.
TEST(DecideConnectionTest, AgreesWithTheEndpointsThatNameTheHost) {
  const NetworkPolicy policy = {
      .rules = {For("a", {To("api.example.com", {80, 443}), To("*.example.org", {443})}, {kCurl}),
                For("b",
                    {{.host = "", .ports = {8443}, .allowed_ips = {*ParseRange("8.8.0.0/16")}},
                     To("10.1.2.3", {22}),
                     To("*.corp.internal", {443})},
                    {kPython})},
      .middlewares = {}};
  for (const char* text :
       {"api.example.com:443", "api.example.com:22", "x.example.org:443", "x.y.example.org:443",
        "8.8.8.8:8443", "8.9.8.8:8443", "name.test:8443", "10.1.2.3:22", "10.1.2.4:22",
        "x.corp.internal:443", "127.0.0.1:22", "api.example.com:6443"}) {
    const Destination destination = *ParseDestination(text);
    for (const char* program : {kCurl, kPython}) {
      bool named = false;
      for (const Match& match : MatchesOf(policy, destination)) {
        const bool open = match.kind == MatchKind::kNamed || match.kind == MatchKind::kIfInRange;
        named = named || (open && match.rule->binaries[0].path == program);
      }
      named = named && destination.never.empty();
      const Connection connection = By(program, destination.host, destination.port);
      Decision decision = DecideConnection(policy, connection);
      const std::optional<AddressRange> address = ParseAddress(destination.host);
      if (decision.allowed && address) {
        decision = DecideAddresses(connection, decision.pairs, {*address}, {});
      }
      EXPECT_EQ(decision.allowed, named) << text << " " << program;
    }
  }
}

TEST(PublicPolicyTest, OpensWhatIsPublicToEveryProgram) {
  const NetworkPolicy policy = PublicPolicy("network");
  for (const char* host : {"example.com", "a.b.example.com", "93.184.216.34", "2606:4700::1"}) {
    EXPECT_EQ(Answer(policy, By(kCurl, host, 443)), "allowed network") << host;
    EXPECT_EQ(Answer(policy, {host, 9999, {}}), "allowed network") << host;
  }
  EXPECT_EQ(Answer(policy, By(kCurl, "example.com", 6443)), "ssrf_denied");
  for (const char* host : {"localhost", "127.0.0.1", "::1", "169.254.169.254", "10.1.2.3",
                           "fd00::1", "db.corp.internal", "192.168.1.1", "**"}) {
    EXPECT_NE(Answer(policy, By(kCurl, host, 443)), "allowed network") << host;
  }
}

TEST(PublicPolicyTest, ANameThatLeadsInsideIsNotOpened) {
  const NetworkPolicy policy = PublicPolicy("network");
  const Connection connection = By(kCurl, "example.com", 443);
  const Decision decision = DecideConnection(policy, connection);
  const auto open = [&](const std::vector<std::string>& texts, const std::string& own = "") {
    std::vector<AddressRange> addresses, ours;
    for (const std::string& text : texts) addresses.push_back(*ParseAddress(text));
    if (!own.empty()) ours.push_back(*ParseAddress(own));
    return DecideAddresses(connection, decision.pairs, addresses, ours).allowed;
  };
  EXPECT_TRUE(open({"93.184.216.34"}));
  EXPECT_FALSE(open({"93.184.216.34"}, "93.184.216.34"));
  for (const char* inside : {"10.0.0.1", "172.16.0.1", "192.168.0.1", "100.64.0.1", "127.0.0.1",
                             "169.254.1.1", "fd00::1", "fe80::1", "::1"}) {
    EXPECT_FALSE(open({inside})) << inside;
    EXPECT_FALSE(open({"93.184.216.34", inside})) << inside;
  }
}

}  // namespace
}  // namespace odyssey::egress
