#include "agentd/tool/refused_destinations.h"

#include <gtest/gtest.h>

namespace odyssey::tools {
namespace {

namespace pb = ::odyssey::supervisor::v1;

pb::EgressDecision* Add(pb::ExecOutcome* outcome, const std::string& host, uint32_t port) {
  pb::EgressDecision* decision = outcome->add_egress();
  decision->set_verdict(pb::EGRESS_VERDICT_DENIED);
  decision->set_code("policy_denied");
  decision->set_host(host);
  decision->set_port(port);
  decision->set_reason("curl may not");
  return decision;
}

TEST(RefusedDestinationsTest, EachIsThereOnceInOrder) {
  pb::ExecOutcome outcome;
  Add(&outcome, "b.example", 443);
  Add(&outcome, "a.example", 80);
  Add(&outcome, "b.example", 443);
  Add(&outcome, "b.example", 80);
  EXPECT_EQ(RefusedDestinations(outcome),
            (std::vector<RefusedDestination>{{"b.example", 443, "curl may not"},
                                             {"a.example", 80, "curl may not"},
                                             {"b.example", 80, "curl may not"}}));
}

TEST(RefusedDestinationsTest, WhatNoEndpointWouldOpenIsNot) {
  pb::ExecOutcome outcome;
  Add(&outcome, "a.example", 443)->set_code("ssrf_denied");
  Add(&outcome, "a.example", 443)->set_code("budget_exceeded");
  Add(&outcome, "a.example", 443)->set_verdict(pb::EGRESS_VERDICT_ALLOWED);
  Add(&outcome, "a.example", 443)->set_verdict(pb::EGRESS_VERDICT_AUDITED);
  Add(&outcome, "a.example", 443)->set_rule("network_policies.x.endpoints[0]");
  Add(&outcome, "a.example", 0);
  EXPECT_EQ(RefusedDestinations(outcome), std::vector<RefusedDestination>{});
}

}  // namespace
}  // namespace odyssey::tools
