#include "supervisor/egress/inference/spending.h"

#include <gtest/gtest.h>

#include "supervisor/egress/inference/decide.h"

namespace odyssey::egress::inference {
namespace {

using std::chrono::seconds;

TEST(SpendingTest, WithoutABudgetEverythingIsAdmitted) {
  Spending spending;
  spending.Add({.tokens = UINT64_MAX, .cost = 5});
  spending.Add({.tokens = 1});
  EXPECT_EQ(spending.used().tokens, UINT64_MAX);
  EXPECT_EQ(spending.Admit({}), "");
}

TEST(SpendingTest, TokensAndCostAreForTheCellsLife) {
  Spending spending;
  spending.SetBudget({.tokens = 10, .cost = 100}, {.tokens = 4});
  EXPECT_EQ(spending.Admit({}), "");
  spending.Add({.tokens = 6});
  EXPECT_NE(spending.Admit({}).find("10 tokens"), std::string::npos);
  spending.SetBudget({.tokens = 20, .cost = 100}, {.tokens = 4});  // behind what is known here
  EXPECT_EQ(spending.used().tokens, 10U);
  EXPECT_EQ(spending.Admit({}), "");
  spending.Add({.cost = 100});
  EXPECT_NE(spending.Admit({}).find("may cost"), std::string::npos);
}

TEST(SpendingTest, RequestsAreCountedByTheMinute) {
  Spending spending;
  spending.SetBudget({.requests_per_minute = 2}, {});
  const Spending::TimePoint start{};
  EXPECT_EQ(spending.Admit(start), "");
  EXPECT_EQ(spending.Admit(start + seconds(30)), "");
  EXPECT_NE(spending.Admit(start + seconds(59)), "");
  EXPECT_EQ(spending.Admit(start + seconds(60)), "");
  EXPECT_NE(spending.Admit(start + seconds(89)), "");
}

NetworkPolicy PolicyWith(const std::string& host, const std::string& binary) {
  NetworkPolicy out;
  Rule rule{.key = "x"};
  rule.endpoints = {{.host = host, .ports = {443}}};
  rule.binaries = {{.path = binary}};
  out.rules = {rule};
  return out;
}

TEST(InferenceDecideTest, AnEndpointOpensItForItsPrograms) {
  const auto policy = PolicyWith(kHost, "/usr/bin/curl");
  EXPECT_TRUE(IsWanted(policy));
  Connection connection{
      .host = kHost, .port = 443, .program = {.path = "/usr/bin/curl", .known = true}};
  const Decision decision = Inspect(DecideConnection(policy, connection), connection);
  EXPECT_TRUE(decision.allowed);
  EXPECT_TRUE(decision.inspected);
  connection.program.path = "/usr/bin/wget";
  EXPECT_FALSE(DecideConnection(policy, connection).allowed);
  connection.program.path = "/usr/bin/curl";
  connection.port = 8443;
  EXPECT_FALSE(DecideConnection(policy, connection).allowed);
}

TEST(InferenceDecideTest, AnEndpointOfAnotherHostOpensNothing) {
  const auto policy = PolicyWith("api.example.com", "/usr/bin/curl");
  EXPECT_FALSE(IsWanted(policy));
  EXPECT_FALSE(DecideConnection(policy, {.host = kHost, .port = 443}).allowed);
  EXPECT_FALSE(DecideConnection(policy, {.host = "api.example.com", .port = 443}).allowed);
  EXPECT_FALSE(DecideConnection(policy, {.host = "x." + std::string(kHost), .port = 443}).allowed);
}

}  // namespace
}  // namespace odyssey::egress::inference
