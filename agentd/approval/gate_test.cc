#include "agentd/approval/gate.h"

#include <gtest/gtest.h>

namespace odyssey::approval {
namespace {

TEST(GateTest, AllowsWhatTheRulesAllow) {
  EXPECT_EQ(Judge({rules::Verdict::kAllow, "", "", "Read"}, false).kind, rules::Verdict::kAllow);
}

TEST(GateTest, AsksUnlessGranted) {
  const rules::Decision ask{rules::Verdict::kAsk, "Bash(find:*)", "", "Bash(find:*): find"};
  EXPECT_EQ(Judge(ask, false),
            (Verdict{rules::Verdict::kAsk, "Bash(find:*)", "Bash(find:*): find", ""}));
  EXPECT_EQ(Judge(ask, true).kind, rules::Verdict::kAllow);
}

TEST(GateTest, GrantNeverOverridesADeny) {
  const Verdict verdict = Judge({rules::Verdict::kDeny, "Bash(curl:*)", "", "Bash"}, true);
  EXPECT_EQ(verdict.kind, rules::Verdict::kDeny);
  EXPECT_EQ(verdict.message, "permission denied: tool Bash(curl:*) is denied");
}

TEST(GateTest, DenialCarriesTheNote) {
  EXPECT_EQ(DeniedMessage("Bash", "Bash(rm:*)", ""),
            "permission denied: tool Bash(rm:*) was denied");
  EXPECT_EQ(DeniedMessage("Write", "Write", "not there"),
            "permission denied: tool Write was denied: not there");
}

TEST(GateTest, DenialOfWhatNoRuleJudgesNamesTheTool) {
  EXPECT_EQ(DeniedMessage("Bash", "", ""), "permission denied: tool Bash was denied");
}

TEST(GateTest, ACallWithGrantsIsAskedAboutWhateverTheRulesAllow) {
  const rules::Decision allowed{rules::Verdict::kAllow, "Bash", "", "",
                                rules::RiskClass::kLocalWrite};
  EXPECT_EQ(JudgeWithGrants(allowed),
            (Verdict{rules::Verdict::kAsk, "", "", "", rules::RiskClass::kLocalWrite}));
  const rules::Decision asked{rules::Verdict::kAsk, "Bash(curl:*)", "", "Bash(curl:*): curl"};
  EXPECT_EQ(JudgeWithGrants(asked), (Verdict{rules::Verdict::kAsk, "Bash(curl:*)", "", ""}))
      << "nothing is allowed always";
  const rules::Decision denied{rules::Verdict::kDeny, "Bash(rm:*)", "", ""};
  EXPECT_EQ(JudgeWithGrants(denied), Judge(denied, true));
}

}  // namespace
}  // namespace odyssey::approval
