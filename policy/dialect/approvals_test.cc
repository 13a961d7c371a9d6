#include "policy/dialect/approvals.h"

#include <gtest/gtest.h>

namespace odyssey::dialect {
namespace {

using Lines = std::vector<std::string>;

Bundle WithTools(std::vector<std::string> tools) {
  Bundle bundle;
  bundle.tools = std::move(tools);
  return bundle;
}

Lines Approvals(const Bundle& bundle, ToolRuleSpec tools) {
  AgentSpec agent{.id = "a", .tools = std::move(tools)};
  agent.origins.Add("tools.ask[1]", {.file = "a.yaml", .line = 9, .key = "spec.tools.ask[1]"});
  Lines out;
  for (const Approval& approval : ApprovalsOf(bundle, agent)) out.push_back(ToString(approval));
  return out;
}

TEST(ApprovalsTest, EachAskRuleWithItsPlace) {
  EXPECT_EQ(Approvals({}, {.ask = {"Bash", "Write(/etc/*)"}}),
            (Lines{"agent a: Bash", "agent a: Write(/etc/*) (a.yaml:9: spec.tools.ask[1])"}));
  EXPECT_EQ(Approvals({}, {.allow = {"*"}}), Lines{});
}

TEST(ApprovalsTest, ARuleForEveryToolNamesThoseOffered) {
  EXPECT_EQ(Approvals(WithTools({"Read", "Bash", "LS"}), {.ask = {"*"}, .deny = {"LS"}}),
            Lines{"agent a: *, that is Bash, Job, Read"});
}

TEST(ApprovalsTest, ARuleForEditNamesTheToolsThatCountAsIt) {
  EXPECT_EQ(Approvals({}, {.ask = {"Edit"}}), Lines{"agent a: Edit, that is Edit, MultiEdit"});
}

TEST(ApprovalsTest, NothingWaitsOfAToolThatIsNotOffered) {
  EXPECT_EQ(Approvals(WithTools({"Read"}), {.ask = {"Write", "Bash(rm:*)"}}), Lines{});
  EXPECT_EQ(Approvals({}, {.ask = {"Write"}, .deny = {"Write"}}), Lines{});
  EXPECT_EQ(Approvals({}, {.allow = {"*"}, .ask = {"Write"}, .require = {"Read"}}), Lines{});
}

TEST(ApprovalsTest, CommandsThatNoRuleCanJudgeWaitToo) {
  const std::string rest =
      "agent a: Bash commands that cannot be known beforehand, since there are rules such as ";
  EXPECT_EQ(Approvals({}, {.ask = {"Bash(rm:*)"}}),
            (Lines{"agent a: Bash(rm:*)", rest + "Bash(rm:*)"}));
  EXPECT_EQ(Approvals({}, {.allow = {"*"}, .deny = {"Bash(curl:*)"}}),
            Lines{rest + "Bash(curl:*)"});
  EXPECT_EQ(Approvals({}, {.ask = {"Bash"}, .deny = {"Bash(curl:*)"}}), Lines{"agent a: Bash"})
      << "every line waits already";
  EXPECT_EQ(Approvals({}, {.deny = {"Bash"}}), Lines{});
}

}  // namespace
}  // namespace odyssey::dialect
