#include "policy/rules/excess.h"

#include <gtest/gtest.h>

namespace odyssey::rules {
namespace {

struct Entries {
  std::vector<std::string> allow, ask, deny;
};

ToolRules Rules(const Entries& entries) {
  const Result<ToolRules> rules = Parse(entries.allow, entries.ask, entries.deny);
  EXPECT_TRUE(rules.ok());
  return *rules;
}

std::vector<std::string> More(const Entries& child, const Entries& parent) {
  return Excess(Rules(child), Rules(parent));
}

using Lines = std::vector<std::string>;

TEST(ExcessTest, AGranularRuleOverAStricterCoarseOneIsMore) {
  EXPECT_EQ(More({.allow = {"Bash(git:*)"}, .ask = {"Bash"}}, {.ask = {"Bash"}}),
            Lines{"allow: Bash(git:*)"});
  EXPECT_EQ(More({.ask = {"Bash(git:*)"}, .deny = {"*"}}, {.deny = {"*"}}),
            Lines{"ask: Bash(git:*)"});
}

TEST(ExcessTest, ARuleThatMakesNothingMilderIsNotMore) {
  EXPECT_EQ(More({.allow = {"Bash(git:*)"}}, {}), Lines{});
  EXPECT_EQ(More({.allow = {"Bash"}, .ask = {"Bash"}}, {.ask = {"Bash"}}), Lines{});
  EXPECT_EQ(More({.allow = {"Read(/a)"}, .ask = {"Bash"}}, {.ask = {"Bash"}}), Lines{});
  EXPECT_EQ(More({.deny = {"Bash(curl:*)", "Bash"}}, {.deny = {"Bash"}}), Lines{});
  EXPECT_EQ(More({.ask = {"Write"}}, {}), Lines{});
}

TEST(ExcessTest, OfTheNetworkWhatIsAskedAboutIsMore) {
  EXPECT_EQ(More({.ask = {"Network(*)"}}, {}), Lines{"ask: Network(*)"});
  EXPECT_EQ(More({.allow = {"Network(a.b)"}}, {.ask = {"Network"}}), Lines{"allow: Network(a.b)"});
  EXPECT_EQ(More({}, {.ask = {"Network(*)"}}), Lines{});
  EXPECT_EQ(More({.ask = {"Network"}}, {.ask = {"Network"}, .deny = {"Network(a.b)"}}),
            Lines{"deny: Network(a.b) is not there"});
}

TEST(ExcessTest, AnOpinionOnARiskThatIsGoneIsMore) {
  const ToolRules parent = *Parse({}, {}, {}, {{"install", "deny"}, {"safe", "allow"}});
  EXPECT_EQ(Excess(*Parse({}, {}, {}), parent), Lines{"deny: risk install is not there"});
  EXPECT_EQ(Excess(*Parse({}, {}, {}, {{"install", "ask"}}), parent),
            Lines{"deny: risk install is not there"});
  EXPECT_EQ(Excess(parent, parent), Lines{});
  EXPECT_EQ(Excess(parent, *Parse({}, {}, {})), Lines{});
}

TEST(ExcessTest, AStrictRuleThatIsGoneIsMore) {
  EXPECT_EQ(More({}, {.ask = {"Bash"}, .deny = {"Write(/x)"}}),
            (Lines{"ask: Bash is not there", "deny: Write(/x) is not there"}));
  EXPECT_EQ(More({.ask = {"Bash(curl:*)"}}, {.deny = {"Bash(curl:*)"}}),
            Lines{"deny: Bash(curl:*) is not there"});
  EXPECT_EQ(More({.allow = {"Bash(git:*)"}, .deny = {"Bash"}}, {.deny = {"Bash(git:*)"}}),
            Lines{"deny: Bash(git:*) is not there"});
}

TEST(ExcessTest, AStrictRuleInPlaceOfAMilderOneKeepsIt) {
  EXPECT_EQ(More({.deny = {"Bash(curl:*)"}}, {.ask = {"Bash(curl:*)"}}), Lines{});
  EXPECT_EQ(More({.deny = {"Bash"}}, {.ask = {"Bash(git:*)"}, .deny = {"Bash"}}), Lines{});
  EXPECT_EQ(More({.deny = {"*"}}, {.ask = {"Write"}}), Lines{});
  EXPECT_EQ(More({.allow = {"Bash"}}, {.allow = {"Bash", "Read"}}), Lines{});
}

TEST(ExcessTest, RulesForToolsThatCountAsTheSameMeet) {
  EXPECT_EQ(More({.allow = {"MultiEdit(a)"}, .deny = {"Edit"}}, {.deny = {"Edit"}}),
            Lines{"allow: MultiEdit(a)"});
  EXPECT_EQ(More({.deny = {"Edit"}}, {.ask = {"MultiEdit"}}), Lines{});
  EXPECT_EQ(More({.deny = {"MultiEdit"}}, {.deny = {"Edit"}}), Lines{"deny: Edit is not there"});
}

}  // namespace
}  // namespace odyssey::rules
