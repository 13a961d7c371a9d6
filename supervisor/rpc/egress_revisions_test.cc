#include "supervisor/rpc/egress_revisions.h"

#include <gtest/gtest.h>

namespace odyssey::supervisor {
namespace {

egress::NetworkPolicy To(const std::string& host) {
  return {.rules = {egress::RuleFor("rule", host, 443)}};
}

TEST(EgressRevisionsTest, ThePolicyInForceMakesNoRevision) {
  EgressRevisions revisions;
  EXPECT_TRUE(revisions.Add(To("a.example"), {.source = "prepare"}));
  EXPECT_FALSE(revisions.Add(To("a.example"), {.source = "set"}));
  EXPECT_TRUE(revisions.Add(To("b.example"), {.source = "set"}));
  EXPECT_TRUE(revisions.Add(To("a.example"), {.source = "set"}));
  EXPECT_EQ(revisions.current().number, 3u);
}

TEST(EgressRevisionsTest, WhatStandsInAFileElsewhereIsTheSamePolicy) {
  EgressRevisions revisions;
  egress::NetworkPolicy policy = To("a.example");
  EXPECT_TRUE(revisions.Add(policy, {}));
  policy.rules[0].endpoints[0].line = 9;
  EXPECT_FALSE(revisions.Add(policy, {}));
}

TEST(EgressRevisionsTest, OneIsLoadedWhenItIsSaidToBe) {
  EgressRevisions revisions;
  revisions.Add(To("a.example"), {});
  revisions.Add(To("b.example"), {});
  revisions.SetLoaded(1);
  EXPECT_FALSE(revisions.current().loaded);
  revisions.SetLoaded(2);
  EXPECT_TRUE(revisions.current().loaded);
}

TEST(EgressRevisionsTest, TheLastOnesAreFound) {
  EgressRevisions revisions;
  EXPECT_TRUE(revisions.Add(To("a0.example"), {}));
  EXPECT_EQ(revisions.FindEarlier(0).status().code(), Code::kNotFound);
  for (int i = 1; i < 40; ++i) revisions.Add(To("a" + std::to_string(i) + ".example"), {});
  EXPECT_EQ(revisions.all().size(), 32u);
  EXPECT_EQ(revisions.Find(0)->number, 40u);
  EXPECT_EQ(revisions.FindEarlier(0)->number, 39u);
  EXPECT_EQ(revisions.Find(9)->policy, To("a8.example"));
  EXPECT_EQ(revisions.Find(8).status().message(),
            "revision: 8: the cell has the revisions 9 to 40");
}

}  // namespace
}  // namespace odyssey::supervisor
