#include "policy/dialect/llm_do_command.h"

#include <gtest/gtest.h>

#include "tests/fakes/fake_policy_host.h"

namespace odyssey::dialect::llm_do {
namespace {

constexpr char kWorker[] = R"(sandbox:
  paths:
    notes: {root: /srv/notes}
    out: {root: /srv/out, mode: rw}
shell_rules:
- {pattern: git status, approval_required: false}
- {pattern: git}
- {pattern: cat, sandbox_paths: [notes], approval_required: false}
- {pattern: cat, sandbox_paths: [notes, out]}
)";

Worker Read(const std::string& text) {
  const fakes::PolicyReading reading = fakes::ReadPolicyOn(fakes::FakePolicyHost(), text, "w.yaml");
  EXPECT_EQ(reading.problems, "");
  return *reading.policy->worker;
}

// "allow shell_rules[0]", "deny ", or the error.
std::string Decide(const std::string& command, const std::string& text = kWorker) {
  const Result<rules::Decision> decision = DecideCommand(Read(text), command);
  if (!decision.ok()) return decision.status().message();
  return std::string(rules::VerdictName(decision->verdict)) + " " + decision->rule;
}

TEST(LlmDoCommandTest, TheFirstRuleWhoseWordsItBeginsWith) {
  EXPECT_EQ(Decide("git status -s"), "allow shell_rules[0]");
  EXPECT_EQ(Decide("git  'status'"), "allow shell_rules[0]");
  EXPECT_EQ(Decide("git statusx"), "ask shell_rules[1]");
  EXPECT_EQ(Decide("gitx status"), "deny ");
  EXPECT_EQ(Decide("ls"), "deny ");
  const std::string defaults = "toolsets: {shell: {default: {approval_required: ";
  EXPECT_EQ(Decide("ls", defaults + "true}}}\n"), "ask shell default");
  EXPECT_EQ(Decide("ls", defaults + "false}}}\n"), "allow shell default");
}

TEST(LlmDoCommandTest, APatternIsSplitAsACommandIs) {
  const std::string rule = "shell_rules: [{pattern: \"git commit -m 'a b'\"}]\n";
  EXPECT_EQ(Decide("git commit -m 'a b'", rule), "ask shell_rules[0]");
  EXPECT_EQ(Decide("git commit -m a\\ b --amend", rule), "ask shell_rules[0]");
  EXPECT_EQ(Decide("git commit -m a b", rule), "deny ");
  EXPECT_EQ(Decide("git commit -m \"'a b'\"", rule), "deny ");
  EXPECT_EQ(
      fakes::ReadPolicyOn(fakes::FakePolicyHost(),
                          "shell_rules:\n- {pattern: ls}\n- {pattern: \"git 'a\"}\n", "w.yaml")
          .problems,
      "w.yaml:3: shell_rules[1].pattern: cannot be split into words: a quote is not closed: "
      "`git 'a`");
}

TEST(LlmDoCommandTest, EveryArgumentIsInsideThePathsOfTheRule) {
  for (const char* inside : {"cat", "cat notes/a", "cat notes:a", "cat /srv/notes/a",
                             "cat -n notes", "cat --from=notes/a", "cat -o/srv/notes/b notes/a"}) {
    EXPECT_EQ(Decide(inside), "allow shell_rules[2]") << inside;
  }
  for (const char* both : {"cat out/a", "cat notes/a out/b", "cat -o/srv/out/b notes/a"}) {
    EXPECT_EQ(Decide(both), "ask shell_rules[3]") << both;
  }
  for (const char* outside :
       {"cat a", "cat /etc/passwd", "cat notes/../out2/a", "cat /srv/notesx", "cat notesx/a",
        "cat --output=/etc/x notes/a", "cat -o/etc/x notes/a", "cat ~/notes", "cat ''"}) {
    EXPECT_EQ(Decide(outside), "deny ") << outside;
  }
}

TEST(LlmDoCommandTest, WhatAShellWouldActOnIsRefused) {
  const Worker worker = Read(kWorker);
  for (const char* refused : {"|", ">", "<", ";", "&", "`", "$(", "${"}) {
    const auto decision = DecideCommand(worker, std::string("git status ") + refused + " x");
    ASSERT_TRUE(decision.ok());
    EXPECT_EQ(decision->verdict, rules::Verdict::kDeny);
    EXPECT_EQ(decision->reason,
              "Command contains blocked metacharacter '" + std::string(refused) +
                  "'. Shell metacharacters are not allowed for security reasons.");
  }
  EXPECT_EQ(Decide("  "), "Empty command");
  EXPECT_EQ(Decide("git 'status"), "Cannot parse command: a quote is not closed");
  EXPECT_EQ(Decide("git \\"), "Cannot parse command: nothing after `\\`");
}

TEST(LlmDoCommandTest, ARuleHasItsLine) {
  const Worker worker = Read(kWorker);
  ASSERT_NE(worker.origins.Find("shell_rules[2]"), nullptr);
  EXPECT_EQ(worker.origins.Find("shell_rules[2]")->line, 8);
  EXPECT_EQ(worker.origins.Find("shell_rules[2]")->key, "shell_rules[2].pattern");
}

}  // namespace
}  // namespace odyssey::dialect::llm_do
