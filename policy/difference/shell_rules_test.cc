#include "policy/difference/shell_rules.h"

#include <gtest/gtest.h>

#include "tests/fakes/fake_policy_host.h"

namespace odyssey::difference {
namespace {

using Lines = std::vector<std::string>;

constexpr char kPaths[] =
    "sandbox: {paths: {notes: {root: /srv/notes}, deep: {root: /srv/notes/deep}, out: {root: "
    "/srv/out}}}\n";

dialect::llm_do::Worker Worker(const std::string& rules, const std::string& paths = kPaths) {
  const fakes::PolicyReading reading =
      fakes::ReadPolicyOn(fakes::FakePolicyHost(), "instructions: i\n" + paths + rules, "w.yaml");
  EXPECT_EQ(reading.problems, "");
  return *reading.policy->worker;
}

Difference Compare(const std::string& first, const std::string& second) {
  return CompareShellRules(Worker(first), Worker(second));
}

TEST(ShellRulesTest, AskingLessIsMore) {
  const std::string asks = "shell_rules: [{pattern: git push}]\n";
  const std::string runs = "shell_rules: [{pattern: git push, approval_required: false}]\n";
  const std::string grants = "shell_rules: [{pattern: git push, grants: {network: true}}]\n";
  EXPECT_EQ(Compare(asks, runs).only_second,
            Lines{"shell `git push`: runs without asking, where the other says: asks, then runs"});
  EXPECT_EQ(Compare(asks, runs).only_first, Lines());
  EXPECT_EQ(Compare("", asks).only_second,
            Lines{"shell `git push`: asks, then runs, where the other says: refused"});
  EXPECT_EQ(Compare(grants, asks).only_first,
            Lines{"shell `git push`: asks, then runs with the network, where the other says: asks, "
                  "then runs"});
  EXPECT_EQ(OrderOf(Compare(grants, runs)), Order::kDifferent);
  EXPECT_EQ(Compare("", "toolsets: {shell: {default: {approval_required: true}}}\n").only_second,
            Lines{"shell commands that no rule names: asks, then runs, where the other says: "
                  "refused"});
}

TEST(ShellRulesTest, WordsAreComparedAndNotLetters) {
  const Difference difference =
      Compare("shell_rules: [{pattern: git}]\n", "shell_rules: [{pattern: git status}]\n");
  EXPECT_EQ(difference.only_first,
            Lines{"shell `git`: asks, then runs, where the other says: refused"});
  EXPECT_EQ(difference.only_second, Lines());
  EXPECT_EQ(OrderOf(Compare("shell_rules: [{pattern: rm}]\n", "shell_rules: [{pattern: rmdir}]\n")),
            Order::kDifferent);
}

TEST(ShellRulesTest, QuotesOfAPatternAreNoPartOfItsWords) {
  const std::string single = "shell_rules: [{pattern: \"git commit -m 'a b'\"}]\n";
  const std::string escaped = "shell_rules: [{pattern: 'git commit -m a\\ b'}]\n";
  EXPECT_EQ(OrderOf(Compare(single, escaped)), Order::kSame);
  const std::string words = "shell_rules: [{pattern: git commit -m a b}]\n";
  EXPECT_EQ(OrderOf(Compare(single, words)), Order::kDifferent);
}

TEST(ShellRulesTest, TheFirstRuleDecides) {
  const std::string order_a =
      "shell_rules: [{pattern: git push}, {pattern: git, approval_required: false}]\n";
  const std::string order_b =
      "shell_rules: [{pattern: git, approval_required: false}, {pattern: git push}]\n";
  EXPECT_EQ(Compare(order_a, order_b).only_second,
            Lines{"shell `git push`: runs without asking, where the other says: asks, then runs"});
  EXPECT_EQ(Compare(order_a, order_b).only_first, Lines());
}

TEST(ShellRulesTest, ARuleThatNeverDecidesIsNoDifference) {
  EXPECT_EQ(
      Compare("shell_rules: [{pattern: git}]\n",
              "shell_rules: [{pattern: git}, {pattern: git push, approval_required: false}]\n"),
      Difference());
}

TEST(ShellRulesTest, PathsBoundARule) {
  const std::string any = "shell_rules: [{pattern: cat}]\n";
  const std::string notes = "shell_rules: [{pattern: cat, sandbox_paths: [notes]}]\n";
  const std::string both = "shell_rules: [{pattern: cat, sandbox_paths: [notes, deep]}]\n";
  const std::string out = "shell_rules: [{pattern: cat, sandbox_paths: [out]}]\n";
  EXPECT_EQ(Compare(notes, any).only_second,
            Lines{"shell `cat` with arguments in elsewhere: asks, then runs, where the other says: "
                  "refused"});
  EXPECT_EQ(Compare(notes, any).only_first, Lines());
  EXPECT_EQ(Compare(notes, both), Difference());
  EXPECT_EQ(OrderOf(Compare(notes, out)), Order::kDifferent);
  // Arguments in both places: one rule for both is more than one for each.
  EXPECT_EQ(Compare("shell_rules: [{pattern: cat, sandbox_paths: [notes]},"
                    " {pattern: cat, sandbox_paths: [out]}]\n",
                    "shell_rules: [{pattern: cat, sandbox_paths: [notes, out]}]\n")
                .only_second,
            Lines{"shell `cat` with arguments in /srv/notes and /srv/out: asks, then runs, where "
                  "the other says: refused"});
}

TEST(ShellRulesTest, ManyPathsAreNotCalledTheSameUnseen) {
  std::string paths = "sandbox:\n  paths:\n", names;
  for (char c = 'a'; c <= 'j'; ++c) {
    paths += std::string("    ") + c + ": {root: /srv/" + c + "}\n";
    names += std::string(names.empty() ? "" : ", ") + c;
  }
  const std::string one = "shell_rules: [{pattern: cat, sandbox_paths: [" + names + "]}]\n";
  const std::string two =
      "shell_rules: [{pattern: cat, sandbox_paths: [" + names + "]}, {pattern: cat x}]\n";
  EXPECT_EQ(CompareShellRules(Worker(one, paths), Worker(one, paths)), Difference());
  EXPECT_NE(OrderOf(CompareShellRules(Worker(one, paths), Worker(two, paths))), Order::kSame);
  const std::string swapped =
      "shell_rules: [{pattern: cat, sandbox_paths: [" + names + "]}, {pattern: cat}]\n";
  EXPECT_EQ(OrderOf(CompareShellRules(Worker(one, paths), Worker(swapped, paths))), Order::kWider);
  const std::string never = "shell_rules: [{pattern: cat}, {pattern: cat x}]\n";
  const std::string less = "shell_rules: [{pattern: cat}]\n";
  EXPECT_EQ(OrderOf(CompareShellRules(Worker(less, paths), Worker(never, paths))),
            Order::kDifferent);
}

}  // namespace
}  // namespace odyssey::difference
