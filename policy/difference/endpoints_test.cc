#include "policy/difference/endpoints.h"

#include <gtest/gtest.h>

#include "policy/difference/globs.h"
#include "tests/fakes/fake_policy_host.h"

namespace odyssey::difference {
namespace {

using Lines = std::vector<std::string>;

constexpr char kCurl[] = "/usr/bin/curl";

// The body of one endpoint, for `programs`.
std::string Rule(const std::string& endpoints, const std::string& programs = kCurl,
                 const std::string& name = "x") {
  std::string out = "  " + name + ":\n    binaries: [";
  for (size_t at = 0; at < programs.size();) {
    const size_t end = std::min(programs.find(' ', at), programs.size());
    out += (at == 0 ? "" : ", ") + std::string("{path: '") + programs.substr(at, end - at) + "'}";
    at = end + 1;
  }
  return out + "]\n    endpoints: [" + endpoints + "]\n";
}

std::string Rest(const std::string& more, const std::string& host = "api.example.com",
                 const std::string& port = "port: 443") {
  return "{host: '" + host + "', " + port + ", protocol: rest, " + more + "}";
}

egress::NetworkPolicy Network(const std::string& rules, const std::string& middlewares = "") {
  const std::string text =
      "version: 1\nnetwork_policies:" + (rules.empty() ? " {}\n" : "\n" + rules) + middlewares;
  const fakes::PolicyReading reading = fakes::ReadPolicyOn(fakes::FakePolicyHost(), text, "p.yaml");
  EXPECT_EQ(reading.problems, "") << text;
  return reading.policy ? reading.policy->request.egress : egress::NetworkPolicy();
}

Difference Compare(const std::string& first, const std::string& second) {
  return CompareEndpoints(Network(first), Network(second));
}

// Second is wider, and says so with `words`.
void ExpectWider(const std::string& first, const std::string& second, const std::string& words) {
  const Difference difference = Compare(first, second);
  EXPECT_EQ(OrderOf(difference), Order::kWider) << first << second;
  ASSERT_FALSE(difference.only_second.empty());
  EXPECT_NE(difference.only_second[0].find(words), std::string::npos) << difference.only_second[0];
  EXPECT_EQ(OrderOf(Compare(second, first)), Order::kNarrower) << second << first;
}

TEST(EndpointsTest, BudgetsAreCompared) {
  const egress::NetworkPolicy free = Network(Rule(Rest("access: full")));
  egress::NetworkPolicy bounded = free;
  bounded.rules[0].endpoints[0].budget.bytes_up = 10;
  EXPECT_EQ(OrderOf(CompareEndpoints(bounded, free)), Order::kWider);
  egress::NetworkPolicy larger = bounded;
  larger.rules[0].endpoints[0].budget.bytes_up = 11;
  EXPECT_EQ(OrderOf(CompareEndpoints(bounded, larger)), Order::kWider);
  bounded = free;
  bounded.budget.max_connections = 3;
  EXPECT_EQ(CompareEndpoints(free, bounded).only_first, Lines{"a larger budget of the whole cell"});
  EXPECT_EQ(OrderOf(CompareEndpoints(free, bounded)), Order::kNarrower);
}

TEST(EndpointsTest, AnEndpointThatIsNotThere) {
  EXPECT_EQ(Compare("", Rule(Rest("access: read-only"))).only_second,
            Lines{"network_policies.x.endpoints[0] on line 5: api.example.com:443, rest, enforce, "
                  "access read-only, for /usr/bin/curl"});
  EXPECT_EQ(Compare(Rule(Rest("access: full")), Rule(Rest("access: full"))), Difference());
  // Without a program nothing is let through.
  EXPECT_EQ(Compare("", "  x: {endpoints: [" + Rest("access: full") + "]}\n"), Difference());
}

TEST(EndpointsTest, MoreOfEachKindIsWider) {
  const std::string read = Rule(Rest("access: read-only"));
  ExpectWider(read, Rule(Rest("access: read-write")),
              "more than network_policies.x.endpoints[0] of the other: POST; PUT; PATCH");
  ExpectWider(Rule(Rest("access: read-write")), Rule(Rest("access: full")), "every request");
  ExpectWider(read, Rule(Rest("access: read-only"), "/usr/bin/curl /usr/bin/git"),
              ": for /usr/bin/git");
  ExpectWider(read, Rule(Rest("access: read-only"), "/usr/bin/*"), ": for /usr/bin/*");
  ExpectWider(read, Rule(Rest("access: read-only", "api.example.com", "ports: [443, 8443]")),
              "port 8443");
  ExpectWider(read, Rule(Rest("access: read-only", "*.example.com")), "host *.example.com");
  ExpectWider(Rule(Rest("access: read-only", "*.example.com")),
              Rule(Rest("access: read-only", "**.example.com")), "host **.example.com");
  ExpectWider(Rule(Rest("access: read-only, path: '/v1/*'")), read, "path **");
  ExpectWider(read, Rule(Rest("access: read-only, enforcement: audit")), "every request");
  ExpectWider(read, Rule("{host: api.example.com, port: 443}"), "any bytes");
  ExpectWider(Rule(Rest("access: read-only, allowed_ips: [10.0.0.0/16]")),
              Rule(Rest("access: read-only, allowed_ips: [10.0.0.0/8]")), "allowed_ips 10.0.0.0/8");
  ExpectWider(read, Rule(Rest("access: read-only, allow_encoded_slash: true")),
              "allow_encoded_slash");
}

TEST(EndpointsTest, APinIsNarrower) {
  const std::string free = Rule(Rest("access: full"));
  const auto with = [&](const std::string& keys) {
    std::string out = free;
    return out.replace(out.find("curl'"), 5, "curl', " + keys);
  };
  const std::string a = "sha256: " + std::string(64, 'a'), b = "sha256: " + std::string(64, 'b');
  ExpectWider(with(a), free, ": for /usr/bin/curl");
  ExpectWider(with("ancestors: false"), free, ": for /usr/bin/curl");
  ExpectWider(with(a), with("ancestors: false"), ": for /usr/bin/curl itself");
  ExpectWider(with(a), Rule(Rest("access: full"), "/usr/bin/*"), ": for /usr/bin/*");
  EXPECT_EQ(OrderOf(Compare(with(a), with(b))), Order::kDifferent);
  EXPECT_EQ(Compare(with(a), with(b)).only_second,
            Lines{"network_policies.x.endpoints[0] on line 5: api.example.com:443, rest, enforce, "
                  "access full, for /usr/bin/curl with sha256 " +
                  std::string(64, 'b')});
  EXPECT_EQ(Compare(with(a), with(a)), Difference());
}

TEST(EndpointsTest, RulesAreWhatTheyMatch) {
  const std::string one = Rule(Rest("rules: [{allow: {method: GET, path: '/v1/*'}}]"));
  const std::string two = Rule(
      Rest("rules: [{allow: {method: GET, path: '/v1/*'}}, {allow: {method: POST, path: /x}}]"));
  ExpectWider(one, two, "POST /x");
  ExpectWider(one, Rule(Rest("rules: [{allow: {method: GET, path: '/v1/**'}}]")), "GET /v1/**");
  ExpectWider(one, Rule(Rest("access: read-only")), "GET");
  const std::string denied =
      Rule(Rest("access: full, deny_rules: [{method: DELETE, path: '/**'}]"));
  ExpectWider(denied, Rule(Rest("access: full")), "no denial of DELETE /**");
  EXPECT_EQ(Compare(Rule(Rest("access: read-only")),
                    Rule(Rest("rules: [{allow: {method: OPTIONS}}, {allow: {method: GET}}]"))),
            Difference());
}

TEST(EndpointsTest, ASplitEndpointIsTheSame) {
  const std::string whole = Rule(Rest("access: full", "api.example.com", "ports: [80, 443]"),
                                 "/usr/bin/curl /usr/bin/git");
  const std::string split =
      Rule(Rest("access: full", "api.example.com", "port: 80") + ", " + Rest("access: full"),
           "/usr/bin/curl", "a") +
      Rule(Rest("access: full", "api.example.com", "ports: [80, 443]"), "/usr/bin/git", "b");
  EXPECT_EQ(Compare(whole, split), Difference());
}

TEST(EndpointsTest, MoreInOneAndLessInAnotherIsDifferent) {
  EXPECT_EQ(OrderOf(Compare(Rule(Rest("access: full")),
                            Rule(Rest("access: read-only"), "/usr/bin/curl /usr/bin/git"))),
            Order::kDifferent);
  EXPECT_EQ(OrderOf(Compare(Rule(Rest("access: full", "a.example.com")),
                            Rule(Rest("access: full", "b.example.com")))),
            Order::kDifferent);
}

TEST(EndpointsTest, WhatHasNoOrderIsUndecided) {
  const std::string plain = Rule(Rest("access: full"));
  const Difference difference =
      Compare(plain, Rule(Rest("access: full, allowed_ips: [10.0.0.0/8]")));
  EXPECT_EQ(difference.only_first, Lines());
  EXPECT_EQ(difference.only_second, Lines());
  ASSERT_EQ(difference.undecided.size(), 2u);
  EXPECT_NE(difference.undecided[0].find("otherwise than network_policies.x.endpoints[0] of the "
                                         "other: allowed_ips, which only one of them has"),
            std::string::npos)
      << difference.undecided[0];
  EXPECT_EQ(
      OrderOf(Compare(plain, Rule(Rest("access: full, request_body_credential_rewrite: true")))),
      Order::kDifferent);
}

TEST(EndpointsTest, SeveralEndpointsForOnePlaceAreNotGuessedAt) {
  const std::string two = Rule(Rest("access: read-only, path: /a"), kCurl, "a") +
                          Rule(Rest("access: read-only, path: /b"), kCurl, "b");
  const Difference difference = Compare(two, Rule(Rest("access: read-only")));
  ASSERT_EQ(difference.undecided.size(), 1u);
  EXPECT_NE(difference.undecided[0].find("2 endpoints of the other are about the same"),
            std::string::npos);
  EXPECT_EQ(difference.only_first, Lines());
}

TEST(EndpointsTest, MiddlewaresCount) {
  const std::string rule = Rule(Rest("access: full"));
  const Difference difference = CompareEndpoints(
      Network(rule), Network(rule, "network_middlewares:\n  m: {middleware: openshell/regex}\n"));
  EXPECT_EQ(difference.undecided, Lines{"network_middlewares.m: only the second has it so"});
}

TEST(GlobsTest, OnePatternLiesInAnother) {
  struct Case {
    const char *outer, *inner;
    bool covers;
  };
  for (const Case& c : std::initializer_list<Case>{{"", "/a", true},
                                                   {"/a", "", false},
                                                   {"/a/*", "/a/b", true},
                                                   {"/a/*", "/a/b/c", false},
                                                   {"/a/**", "/a/b/*/c", true},
                                                   {"/a/*", "/a/**", false},
                                                   {"/a/**/z", "/a/z", true},
                                                   {"/a/b*", "/a/bc*", true},
                                                   {"/a/bc*", "/a/b*", false},
                                                   {"/a/*c", "/a/*bc", true}}) {
    EXPECT_EQ(PathCovers(c.outer, c.inner), c.covers) << c.outer << " " << c.inner;
  }
  EXPECT_TRUE(HostCovers("**.example.com", "a.b.example.com"));
  EXPECT_TRUE(HostCovers("**.example.com", "*.example.com"));
  EXPECT_FALSE(HostCovers("*.example.com", "**.example.com"));
  EXPECT_FALSE(HostCovers("*.example.com", "example.com"));
  EXPECT_FALSE(HostCovers("**.example.com", "example.com"));
  EXPECT_TRUE(HostCovers("a.*.example.com", "a.b.example.com"));
  EXPECT_FALSE(HostCovers("*.0.0.1", "10.0.0.1"));
  EXPECT_TRUE(TextCovers("read_*", "read_file"));
  EXPECT_FALSE(TextCovers("read_*", ""));
  const std::string stars(2000, '*');
  EXPECT_FALSE(PathCovers("/" + stars + "b", "/" + std::string(2000, 'a')));
}

}  // namespace
}  // namespace odyssey::difference
