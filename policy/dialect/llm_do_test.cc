#include "policy/dialect/llm_do.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tests/fakes/fake_policy_host.h"

namespace odyssey::dialect::llm_do {
namespace {

using fakes::FakePolicyHost;
using fakes::PolicyReading;
using fakes::ReadPolicyOn;
using policy::Access;

constexpr char kFile[] = "w.yaml";

PolicyReading Read(const std::string& text, const std::string& path = kFile) {
  return ReadPolicyOn(FakePolicyHost(), text, path);
}

TEST(LlmDoTest, ReadsTheWholeOfASandbox) {
  const PolicyReading reading = Read(R"(name: demo
description: d
instructions: i
model: m
sandbox:
  paths:
    portfolio: {root: ./portfolio, mode: rw, suffixes: [.MD, .pdf], max_file_bytes: 10000000}
    framework: {root: /srv//framework/, read_approval: true}
    notes: {root: ~/notes, write_approval: false}
  network: false
  require_os_sandbox: false
attachment_policy: {max_count: 5, max_total_bytes: 15000000, denied_suffixes: [.exe]}
tool_rules:
  shell: {approval_required: true}
  write_text: {approval_required: false}
shell_rules:
  - {pattern: git push, approval_required: true, grants: {network: true}}
  - {pattern: cat, sandbox_paths: [portfolio], approval_required: false, grants: {}}
toolsets: {delegation: {allow_workers: [evaluator]}, other: {x: 1}}
)");
  ASSERT_EQ(reading.problems, "");
  EXPECT_EQ(reading.warnings, "");
  EXPECT_EQ(reading.policy->dialect, Dialect::kLlmDo);
  policy::SandboxRequest expected;
  expected.mounts = {{"/home/u/project/portfolio",
                      "/workspace/mount/portfolio",
                      Access::kReadWrite,
                      false,
                      {".md", ".pdf"},
                      10'000'000},
                     {"/srv/framework", "/workspace/mount/framework", Access::kReadOnly},
                     {"/home/u/notes", "/workspace/mount/notes", Access::kReadOnly}};
  EXPECT_EQ(reading.policy->request, expected);
  EXPECT_EQ(reading.policy->create, (std::vector<std::string>{"/home/u/project/portfolio",
                                                              "/srv/framework", "/home/u/notes"}));
  EXPECT_EQ(
      reading.policy->elsewhere,
      (std::vector<std::string>{
          "sandbox.paths.portfolio: writing asks, reading runs without asking",
          "sandbox.paths.framework: writing asks, reading asks",
          "sandbox.paths.notes: writing runs without asking, reading runs without asking",
          "attachment_policy: at most 5 files, 15000000 bytes together, no .exe",
          "tool_rules.shell: asks", "tool_rules.write_text: runs without asking",
          "shell rule `git push`: asks, and has the network for that command",
          "shell rule `cat`: runs without asking, with arguments inside portfolio",
          "shell commands without a rule: refused", "delegation: to evaluator",
          "sandbox.require_os_sandbox: false changes nothing: a command runs in a cell or not at "
          "all"}));
}

TEST(LlmDoTest, TheNetworkIsAllOrNothing) {
  EXPECT_TRUE(IsPublic(Read("sandbox: {network: true}").policy->request.egress));
  EXPECT_EQ(Read("sandbox: {}").policy->request.network, policy::Network::kNone);
}

TEST(LlmDoTest, ThePluralFormIsReadWithAWarning) {
  const PolicyReading reading = Read(
      "instructions: i\n"
      "sandboxes:\n"
      "  portfolio:\n"
      "    path: ./portfolio\n"
      "    mode: rw\n");
  ASSERT_EQ(reading.problems, "");
  EXPECT_EQ(reading.policy->request.mounts,
            (std::vector<policy::Mount>{
                {"/home/u/project/portfolio", "/workspace/mount/portfolio", Access::kReadWrite}}));
  EXPECT_EQ(reading.warnings,
            "w.yaml:3: sandboxes.portfolio: `sandboxes` is deprecated: write "
            "sandbox.paths.portfolio, with `root` for `path`");
  EXPECT_EQ(Read("sandbox: {paths: {a: {root: x}}}\nsandboxes: {a: {path: y}}\n").problems,
            "w.yaml:2: sandboxes.a.path: the path `a` is named twice");
}

TEST(LlmDoTest, RelativeRootsBeginAtTheFileOrAboveItsWorkers) {
  const auto root = [](const std::string& path) {
    const PolicyReading reading = Read("sandbox: {paths: {a: {root: ../x/./y}}}", path);
    return reading.policy ? reading.policy->request.mounts[0].source : reading.problems;
  };
  EXPECT_EQ(root("w.yaml"), "/home/u/x/y");
  EXPECT_EQ(root("/srv/shop/w.yaml"), "/srv/x/y");
  EXPECT_EQ(root("/srv/shop/workers/w.yaml"), "/srv/x/y");
  EXPECT_EQ(root("workers/w.yaml"), "/home/u/x/y");
}

TEST(LlmDoTest, NamesEveryProblem) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"sandbox: {paths: {a: {root: x, mode: rwx}}}",
       "sandbox.paths.a.mode: unknown variant `rwx`, expected one of `ro`, `rw`"},
      {"sandbox: {paths: {a: {mode: rw}}}", "sandbox.paths.a.root: missing field `root`"},
      {"sandbox: {paths: {a: {root: ''}}}", "sandbox.paths.a.root: must be the path"},
      {"sandbox: {paths: {a: {root: ~bob/x}}}", "sandbox.paths.a.root: `~` is known without"},
      {"sandbox: {paths: {'../b': {root: x}}}", "sandbox.paths.../b: the name of a path must not"},
      {"sandbox: {paths: {a: {root: x, path: y}}}", "sandbox.paths.a.path: unknown field"},
      {"sandbox: {paths: {a: {root: x, suffixes: [md]}}}",
       "sandbox.paths.a.suffixes[0]: must be a suffix such as `.md`: `md`"},
      {"sandbox: {paths: {a: {root: x, suffixes: [.]}}}", "sandbox.paths.a.suffixes[0]: must be"},
      {"sandbox: {paths: {a: {root: x, max_file_bytes: 0}}}",
       "sandbox.paths.a.max_file_bytes: must be a whole number from 1"},
      {"sandbox: {network: full}", "sandbox.network: must be true or false"},
      {"sandbox: {netwrk: true}", "sandbox.netwrk: unknown field `netwrk`"},
      {"sandboxes: {a: {root: x}}", "sandboxes.a.path: missing field `path`"},
      {"attachment_policy: {max_count: 1, max_attachments: 1}",
       "attachment_policy: max_count and max_attachments mean the same: give one"},
      {"attachment_policy: {max_attachments: -1}", "max_attachments must be non-negative"},
      {"attachment_policy: {max_total_bytes: 0}", "max_total_bytes must be positive"},
      {"attachment_policy: {max: 1}", "attachment_policy.max: unknown field"},
      {"tool_rules: {shell: {approval: true}}", "tool_rules.shell.approval: unknown field"},
      {"tool_rules: {shell: yes}", "tool_rules.shell: must be a map"},
      {"shell_rules: [{approval_required: true}]", "shell_rules[0].pattern: missing field"},
      {"shell_rules: [{pattern: ' '}]", "shell_rules[0].pattern: cannot be empty"},
      {"shell_rules: [{pattern: 'a | b'}]",
       "shell_rules[0].pattern: can never match: commands with `|` are refused"},
      {"shell_rules: [{pattern: cat, sandbox_paths: [x]}]",
       "shell_rules[0].sandbox_paths[0]: no path of the sandbox is named `x`"},
      {"shell_rules: [{pattern: cat, grants: {root: true}}]",
       "shell_rules[0].grants.root: unknown field `root`, expected one of `network`"},
      {"toolsets: {delegation: {allow: []}}", "toolsets.delegation.allow: unknown field"},
      {"shell_rules: [{pattern: a}]\ntoolsets: {shell: {rules: []}}",
       "toolsets.shell.rules: and `shell_rules` mean the same"},
      {"sandbox: {}\ncolour: red", "colour: unknown field `colour`"},
  };
  for (const auto& [text, problem] : cases) {
    const PolicyReading reading = Read(text);
    EXPECT_NE(reading.problems.find(problem), std::string::npos)
        << text << "\n  " << reading.problems;
    EXPECT_EQ(reading.problems.rfind("w.yaml:", 0), 0u);
    EXPECT_FALSE(reading.policy);
  }
}

TEST(LlmDoTest, ShippedNamesOfRulesAreReadToo) {
  const PolicyReading reading = Read(
      "toolsets:\n"
      "  shell: {rules: [{pattern: git status}], default: {approval_required: false}}\n"
      "  delegation: {allow_workers: []}\n"
      "attachment_policy: {max_attachments: 0}\n");
  ASSERT_EQ(reading.problems, "");
  EXPECT_EQ(reading.policy->elsewhere,
            (std::vector<std::string>{"attachment_policy: at most 0 files, 10000000 bytes together",
                                      "shell rule `git status`: asks",
                                      "shell commands without a rule: runs without asking",
                                      "delegation: to no worker"}));
}

}  // namespace
}  // namespace odyssey::dialect::llm_do
