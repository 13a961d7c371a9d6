// The shell lines of corpus.txt under their rules.

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "policy/rules/risk.h"
#include "policy/rules/tool_rules.h"

namespace odyssey::rules {
namespace {

constexpr size_t kLeastCases = 1000;
constexpr size_t kLeastRisks = 150;

struct Case {
  int line = 0;
  std::string verdict;
  std::string command;
  ToolRules rules;
};

// Takes the first word off the text.
std::string TakeWord(std::string* text) {
  const size_t end = text->find(' ');
  const std::string word = text->substr(0, end);
  *text = end == std::string::npos ? "" : text->substr(end + 1);
  return word;
}

std::string WithNewlines(std::string text) {
  const std::string mark = "␤";
  for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark)) {
    text.replace(at, mark.size(), "\n");
  }
  return text;
}

// Of the classifier the verdict is the name of the class.
struct Corpus {
  std::vector<Case> cases;
  std::vector<Case> risks;
};

Corpus ReadCorpus() {
  Corpus corpus;
  std::ifstream file(ODYSSEY_RULES_CORPUS);
  ToolRules rules;
  bool in_rules = false;
  int number = 0;
  for (std::string text; std::getline(file, text);) {
    ++number;
    if (text.empty() || text[0] == '#') continue;
    const std::string word = TakeWord(&text);
    if (word != "rule") {
      in_rules = false;
      const bool risk = word == "risk";
      const std::string wanted = risk ? TakeWord(&text) : word;
      (risk ? corpus.risks : corpus.cases).push_back({number, wanted, WithNewlines(text), rules});
      continue;
    }
    if (!in_rules) rules.rules.clear();
    in_rules = true;
    const std::string action = TakeWord(&text);
    const Result<Rule> rule = ParseRule("corpus", FindVerdict(action).value(), text);
    EXPECT_TRUE(rule.ok()) << number;
    if (rule.ok()) rules.rules.push_back(*rule);
  }
  return corpus;
}

TEST(CorpusTest, EveryLineGetsItsVerdict) {
  const std::vector<Case> cases = ReadCorpus().cases;
  EXPECT_GE(cases.size(), kLeastCases);
  for (const Case& each : cases) {
    const Result<Decision> decision = Decide(each.rules, {.name = "Bash", .command = each.command});
    ASSERT_TRUE(decision.ok()) << each.line << ": " << each.command;
    const std::string verdict(VerdictName(decision->verdict));
    const bool good = each.verdict == verdict || (each.verdict == "held" && verdict != "allow");
    EXPECT_TRUE(good) << "corpus.txt:" << each.line << ": " << each.command << ": " << verdict
                      << ", not " << each.verdict << " (" << decision->reason << ")";
  }
}

TEST(CorpusTest, EveryRiskIsOfItsClass) {
  const std::vector<Case> risks = ReadCorpus().risks;
  EXPECT_GE(risks.size(), kLeastRisks);
  for (const Case& each : risks) {
    const Result<Risk> risk = ClassifyCommand(each.command);
    ASSERT_TRUE(risk.ok()) << each.line << ": " << each.command;
    EXPECT_EQ(RiskName(risk->risk), each.verdict)
        << "corpus.txt:" << each.line << ": " << each.command << " (" << risk->reason << ")";
  }
}

// Whatever runs inside, an unlimited allow covers it, and without rules nothing is asked.
TEST(CorpusTest, WithoutRestrictionsEveryLineRuns) {
  for (const Case& each : ReadCorpus().cases) {
    for (const ToolRules& rules : {*Parse({}, {}, {}), *Parse({"Bash"}, {}, {})}) {
      const Result<Decision> decision = Decide(rules, {.name = "Bash", .command = each.command});
      EXPECT_EQ(decision->verdict, Verdict::kAllow) << each.command;
    }
  }
}

// A coarse rule that asks or denies holds for every line.
TEST(CorpusTest, ACoarseRuleHoldsForEveryLine) {
  for (const Case& each : ReadCorpus().cases) {
    const Result<Decision> decision =
        Decide(*Parse({}, {}, {"Bash"}), {.name = "Bash", .command = each.command});
    EXPECT_EQ(decision->verdict, Verdict::kDeny) << each.command;
  }
}

}  // namespace
}  // namespace odyssey::rules
