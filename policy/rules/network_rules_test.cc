#include "policy/rules/network_rules.h"

#include <gtest/gtest.h>

namespace odyssey::rules {
namespace {

using List = std::vector<std::string>;

// Text of the rule that decides; "" if none does.
std::string Found(const ToolRules& rules, const std::string& host, uint16_t port = 443) {
  const Rule* rule = FindNetworkRule(rules, host, port);
  return rule == nullptr ? "" : std::string(VerdictName(rule->action)) + " " + rule->text;
}

TEST(NetworkRulesTest, ATargetIsAHostOrAPatternAndAPort) {
  const ToolRules rules =
      *Parse({}, {"Network(api.example.com:443)", "Network(*.example.net)"}, {});
  EXPECT_EQ(Found(rules, "api.example.com"), "ask Network(api.example.com:443)");
  EXPECT_EQ(Found(rules, "api.example.com", 80), "");
  EXPECT_EQ(Found(rules, "a.api.example.com"), "");
  EXPECT_EQ(Found(rules, "a.example.net", 22), "ask Network(*.example.net)");
  EXPECT_EQ(Found(rules, "a.b.example.net"), "");
  EXPECT_EQ(Found(rules, "example.net"), "");
  EXPECT_EQ(Found(*Parse({}, {"Network(**.example.net)"}, {}), "a.b.example.net"),
            "ask Network(**.example.net)");
  EXPECT_EQ(Found(*Parse({}, {"Network([2001:DB8::1]:443)"}, {}), "2001:db8::1"),
            "ask Network([2001:DB8::1]:443)");
}

TEST(NetworkRulesTest, EveryHostIsAStar) {
  for (const std::string host : {"a", "a.b", "192.0.2.1", "2001:db8::1"}) {
    EXPECT_EQ(Found(*Parse({}, {"Network(*)"}, {}), host), "ask Network(*)") << host;
    EXPECT_EQ(Found(*Parse({}, {"Network(*:443)"}, {}), host), "ask Network(*:443)") << host;
    EXPECT_EQ(Found(*Parse({}, {"Network"}, {}), host), "ask Network") << host;
  }
  EXPECT_EQ(Found(*Parse({}, {"Network(*:443)"}, {}), "a", 80), "");
}

TEST(NetworkRulesTest, GranularThenStrictThenLateWins) {
  EXPECT_EQ(Found(*Parse({"Network(a.b)"}, {"Network"}, {}), "a.b"), "allow Network(a.b)");
  EXPECT_EQ(Found(*Parse({"Network(a.b)"}, {"Network(*)"}, {}), "a.b"), "ask Network(*)");
  EXPECT_EQ(Found(*Parse({}, {"Network(a.b)"}, {"Network(*)"}), "a.b"), "deny Network(*)");
  EXPECT_EQ(Found(*Parse({}, {"Network(*)", "Network(a.b)"}, {}), "a.b"), "ask Network(a.b)");
}

TEST(NetworkRulesTest, ARuleForEveryToolIsNoneForTheNetwork) {
  EXPECT_EQ(Found(*Parse({"*"}, {"*"}, {"*"}), "a.b"), "");
  EXPECT_EQ(Found(*Parse({"Bash"}, {"Bash(Network:*)"}, {}), "a.b"), "");
}

TEST(NetworkRulesTest, OffersAndRefusesNoTool) {
  const ToolRules rules = *Parse({"Network(a.b)"}, {"Network(*)"}, {"Network"});
  EXPECT_EQ(SelectTools({}, {"Bash", "Read"}, rules), (List{"Bash", "Read"}));
  EXPECT_EQ(Decide(rules, {.name = "Bash", .command = "curl a.b"})->verdict, Verdict::kAllow);
  EXPECT_EQ(RestrictingRule(rules), nullptr);
}

TEST(NetworkRulesTest, WhatNoDestinationFitsIsRefused) {
  const auto error = [](Verdict action, const std::string& entry) {
    return ParseRule("x", action, entry).status().message();
  };
  for (const std::string entry :
       {"Network(a:0)", "Network(a:b)", "Network(*.com)", "Network(a*.example.com)",
        "Network(localhost)", "Network(127.0.0.1:80)", "Network(169.254.169.254)",
        "Network(a.b:6443)", "Network(https://a.b)"}) {
    EXPECT_NE(error(Verdict::kAsk, entry).find("x entry `" + entry + "`: "), std::string::npos)
        << entry << ": " << error(Verdict::kAsk, entry);
  }
  for (const std::string entry :
       {"Network", "Network(*)", "Network(**.b.c)", "Network(*.b.c:443)"}) {
    EXPECT_NE(error(Verdict::kAllow, entry).find("an allow rule of Network names one host"),
              std::string::npos)
        << entry;
    EXPECT_EQ(error(Verdict::kDeny, entry), "");
  }
  EXPECT_EQ(error(Verdict::kAllow, "Network(a.b)"), "");
}

TEST(NetworkRulesTest, AnExampleIsADestination) {
  const Rule rule = *ParseRule("x", Verdict::kAsk, "Network(*.example.com:443)");
  EXPECT_TRUE(*Fits(rule, "API.example.com:443"));
  EXPECT_FALSE(*Fits(rule, "api.example.com:80"));
  EXPECT_FALSE(Fits(rule, "api.example.com").ok());
  EXPECT_TRUE(*Fits(*ParseRule("x", Verdict::kAllow, "Network(a.b)"), "a.b:1"));
}

}  // namespace
}  // namespace odyssey::rules
