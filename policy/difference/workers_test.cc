#include "policy/difference/workers.h"

#include <gtest/gtest.h>

#include "tests/fakes/fake_policy_host.h"

namespace odyssey::difference {
namespace {

using Lines = std::vector<std::string>;

dialect::llm_do::Worker Worker(const std::string& text) {
  const fakes::PolicyReading reading =
      fakes::ReadPolicyOn(fakes::FakePolicyHost(), "instructions: i\n" + text, "w.yaml");
  EXPECT_EQ(reading.problems, "");
  return *reading.policy->worker;
}

Difference Compare(const std::string& first, const std::string& second) {
  return CompareWorkers(Worker(first), Worker(second));
}

TEST(WorkersTest, TheSameInOtherWordsIsTheSame) {
  EXPECT_EQ(Compare("attachment_policy: {max_count: 4}\n", ""), Difference());
  EXPECT_EQ(Compare("toolsets: {delegation: {allow_workers: []}}\n", ""), Difference());
  EXPECT_EQ(Compare("sandbox: {paths: {a: {root: /a, write_approval: true}}}\n",
                    "sandbox: {paths: {a: {root: /a}}}\n"),
            Difference());
}

TEST(WorkersTest, ToolsThatAskNoMoreAreMore) {
  const std::string asks = "tool_rules: {write_text: {approval_required: true}}\n";
  const std::string runs = "tool_rules: {write_text: {approval_required: false}}\n";
  const Difference wider = Compare(asks, runs);
  EXPECT_EQ(wider.only_second, Lines{"tool_rules.write_text.approval_required: without asking, "
                                     "where the other asks"});
  EXPECT_EQ(OrderOf(wider), Order::kWider);
  EXPECT_EQ(OrderOf(Compare(runs, asks)), Order::kNarrower);
  // What holds for a tool without a rule is the tool's own.
  EXPECT_EQ(Compare(asks, "").undecided,
            Lines{"tool_rules.write_text.approval_required: only the first says it"});
  EXPECT_EQ(Compare("", runs).undecided,
            Lines{"tool_rules.write_text.approval_required: only the second says it"});
}

TEST(WorkersTest, ApprovalsOfAPathOfBoth) {
  const auto path = [](const std::string& more) {
    return "sandbox: {paths: {a: {root: /a, mode: rw, " + more + "}}}\n";
  };
  const Difference difference = Compare(path("write_approval: false, read_approval: true"),
                                        path("write_approval: true, read_approval: false"));
  EXPECT_EQ(difference.only_first,
            Lines{"sandbox.paths.a.write_approval: without asking, where the other asks"});
  EXPECT_EQ(difference.only_second,
            Lines{"sandbox.paths.a.read_approval: without asking, where the other asks"});
}

TEST(WorkersTest, Attachments) {
  EXPECT_EQ(Compare("attachment_policy: {max_count: 5, max_total_bytes: 1}\n", "").only_first,
            Lines{"attachment_policy.max_count: 5, where 4 is the most"});
  const Difference suffixes =
      Compare("attachment_policy: {allowed_suffixes: [.md], denied_suffixes: [.key]}\n",
              "attachment_policy: {allowed_suffixes: [.md, .txt]}\n");
  EXPECT_EQ(suffixes.only_second, (Lines{"attachment_policy.allowed_suffixes: .txt",
                                         "attachment_policy.denied_suffixes: .key is not there"}));
  EXPECT_EQ(suffixes.only_first, Lines());
  EXPECT_EQ(Compare("attachment_policy: {allowed_suffixes: [.md]}\n", "").only_second,
            Lines{"attachment_policy.allowed_suffixes: any, where the other has .md"});
}

TEST(WorkersTest, Delegation) {
  const auto workers = [](const std::string& names) {
    return "toolsets: {delegation: {allow_workers: [" + names + "]}}\n";
  };
  EXPECT_EQ(Compare("", workers("a")).only_second, Lines{"toolsets.delegation.allow_workers: a"});
  EXPECT_EQ(OrderOf(Compare(workers("a, b"), workers("'*'"))), Order::kWider);
  EXPECT_EQ(OrderOf(Compare(workers("a"), workers("b"))), Order::kDifferent);
}

TEST(WorkersTest, ShellRulesCount) {
  EXPECT_EQ(OrderOf(Compare("", "shell_rules: [{pattern: ls}]\n")), Order::kWider);
}

}  // namespace
}  // namespace odyssey::difference
