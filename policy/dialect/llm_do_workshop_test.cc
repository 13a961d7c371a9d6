#include "policy/dialect/llm_do_workshop.h"

#include <gtest/gtest.h>

#include "tests/fakes/fake_policy_host.h"
#include "tests/testing/refusal.h"

namespace odyssey::dialect::llm_do {
namespace {

using fakes::FakePolicyHost;
using fakes::PolicyReading;
using fakes::ReadPolicyOn;

constexpr char kWorkshop[] = "/home/u/project/workshop.yaml";

PolicyReading Read(const std::string& workshop, const std::string& worker,
                   const std::string& path = "workers/w.yaml") {
  FakePolicyHost host;
  host.files = {{kWorkshop, workshop}};
  return ReadPolicyOn(host, worker, path);
}

// "NAME ROOT ro|rw", one a line.
std::string Mounts(const PolicyReading& reading) {
  EXPECT_EQ(reading.problems, "");
  std::string out;
  for (const policy::Mount& mount : reading.policy->request.mounts) {
    out += mount.target.substr(mount.target.rfind('/') + 1) + " " + mount.source +
           (mount.access == policy::Access::kReadWrite ? " rw\n" : " ro\n");
  }
  return out;
}

TEST(WorkshopTest, ItsPathsAreAddedAndTheWorkersOfTheSameNameWin) {
  const PolicyReading reading =
      Read("sandbox:\n  paths:\n    docs: {root: ./docs}\n    out: {root: ./out, mode: ro}\n",
           "sandbox:\n  paths:\n    out: {mode: rw}\n    own: {root: /srv/own}\n");
  EXPECT_EQ(Mounts(reading),
            "out /home/u/project/out rw\nown /srv/own ro\ndocs /home/u/project/docs ro\n");
  EXPECT_EQ(reading.policy->also_read, std::vector<std::string>{kWorkshop});
}

TEST(WorkshopTest, ScalarsAndListsOfTheWorkerReplaceItsOwn) {
  const std::string workshop =
      "name: shop\nversion: 3\ndescription: d\nmodel: m\n"
      "sandbox:\n  network: true\n  paths:\n    a: {root: ./a, suffixes: [.md, .txt]}\n"
      "shell_rules:\n- {pattern: git}\n- {pattern: cat}\n"
      "attachment_policy: {max_count: 9, denied_suffixes: [.exe]}\n";
  const PolicyReading kept = Read(workshop, "instructions: i\n");
  EXPECT_EQ(kept.problems, "");
  EXPECT_TRUE(IsPublic(kept.policy->request.egress));
  EXPECT_EQ(kept.policy->elsewhere.size(), 5u);

  const PolicyReading replaced =
      Read(workshop,
           "sandbox:\n  network: false\n  paths:\n    a: {suffixes: [.csv]}\n"
           "shell_rules: [{pattern: ls}]\nattachment_policy: {max_count: 1}\n");
  EXPECT_EQ(replaced.problems, "");
  EXPECT_EQ(replaced.policy->request.network, policy::Network::kNone);
  EXPECT_EQ(replaced.policy->request.mounts[0].suffixes, std::vector<std::string>{".csv"});
  EXPECT_EQ(replaced.policy->elsewhere,
            (std::vector<std::string>{"sandbox.paths.a: writing asks, reading runs without asking",
                                      "attachment_policy: at most 1 files, 10000000 bytes together",
                                      "shell rule `ls`: asks",
                                      "shell commands without a rule: refused"}));
}

TEST(WorkshopTest, WhatTheWorkerLeavesNullIsTheWorkshops) {
  const std::string workshop =
      "sandbox:\n  paths: {a: {root: ./a, suffixes: [.md]}}\n  network: true\n"
      "sandboxes: {old: {path: ./old}}\n"
      "shell_rules: [{pattern: ls}]\nattachment_policy: {max_count: 1}\n"
      "tool_rules: {shell: {approval_required: true}}\n"
      "toolsets: {delegation: {allow_workers: [b]}}\n";
  const PolicyReading alone = Read(workshop, "instructions: i\n");
  ASSERT_EQ(alone.problems, "");
  for (const char* worker :
       {"sandbox:\n", "sandbox: {paths: }\n", "sandbox: {network: }\n", "sandbox: {paths: {a: }}\n",
        "sandbox: {paths: {a: {root: }}}\n", "sandbox: {paths: {a: {suffixes: }}}\n",
        "sandboxes: {old: }\n", "shell_rules:\n", "attachment_policy:\n", "tool_rules:\n",
        "toolsets:\n", "toolsets: {delegation: }\n"}) {
    const PolicyReading reading = Read(workshop, std::string("instructions: i\n") + worker);
    ASSERT_EQ(reading.problems, "") << worker;
    EXPECT_EQ(reading.policy->request, alone.policy->request) << worker;
    EXPECT_EQ(reading.policy->elsewhere, alone.policy->elsewhere) << worker;
  }
}

TEST(WorkshopTest, ToolsetsAreMergedNameByName) {
  const PolicyReading reading = Read(
      "toolsets:\n  shell: {default: {approval_required: false}}\n"
      "  delegation: {allow_workers: [a, b]}\n",
      "toolsets:\n  shell: {rules: [{pattern: ls}]}\n  delegation: {allow_workers: []}\n");
  EXPECT_EQ(reading.problems, "");
  EXPECT_EQ(reading.policy->elsewhere,
            (std::vector<std::string>{"shell rule `ls`: asks",
                                      "shell commands without a rule: runs without asking",
                                      "delegation: to no worker"}));
}

TEST(WorkshopTest, AShellRuleMayNameAPathOfTheOtherFile) {
  const std::string paths = "sandbox:\n  paths:\n    a: {root: ./a}\n";
  const std::string rule = "shell_rules: [{pattern: cat, sandbox_paths: [a]}]\n";
  EXPECT_EQ(Read(paths, rule).problems, "");
  EXPECT_EQ(Read(rule, paths).problems, "");
}

TEST(WorkshopTest, TheOlderFormOfTheWorkerWinsToo) {
  EXPECT_EQ(Mounts(Read("sandbox:\n  paths:\n    a: {root: ./a}\n    b: {root: ./b}\n",
                        "sandboxes:\n  a: {path: /srv/a, mode: rw}\n")),
            "b /home/u/project/b ro\na /srv/a rw\n");
}

TEST(WorkshopTest, ProblemsNameTheFileThatTheyAreIn) {
  EXPECT_EQ(
      Read("sandbox:\n  paths:\n    a: {root: ./a,\n        mode: rwx}\n    b: {mode: ro}\n",
           "sandbox:\n  netwrk: true\n")
          .problems,
      std::string(kWorkshop) +
          ":4: sandbox.paths.a.mode: unknown variant `rwx`, expected one of `ro`, `rw`\n" +
          kWorkshop +
          ":5: sandbox.paths.b.root: missing field `root`\n"
          "workers/w.yaml:2: sandbox.netwrk: unknown field `netwrk`, expected one of `paths`, "
          "`network`, `require_os_sandbox`");
  for (const char* text : {"- a\n", "a: [\n", "colour: red\n", "", "x: &a 1\n"}) {
    const std::string problems = Read(text, "instructions: i\n").problems;
    EXPECT_EQ(problems.rfind(kWorkshop, 0), 0u) << text << problems;
  }
  const PolicyReading reading = Read("sandboxes:\n  a: {path: ./a}\n", "instructions: i\n");
  EXPECT_EQ(reading.warnings.rfind(std::string(kWorkshop) + ":2: sandboxes.a: ", 0), 0u)
      << reading.warnings;
}

TEST(WorkshopTest, WhatTheWorkerReplacesIsCheckedToo) {
  const std::string worker =
      "name: w\nsandbox:\n  network: true\n  paths: {a: {root: ./a, mode: rw, suffixes: [.md]}}\n"
      "shell_rules: [{pattern: ls}]\nattachment_policy: {max_count: 1}\n"
      "tool_rules: {shell: {approval_required: true}}\nsandboxes: {old: {path: ./old}}\n";
  const std::pair<const char*, const char*> wrong[] = {
      {"name: [w]\n", "1: name: must be a string"},
      {"sandbox: 3\n", "1: sandbox: must be a map"},
      {"sandbox: {network: maybe}\n", "1: sandbox.network: must be true or false"},
      {"sandbox: {paths: {a: {root: x, mode: rwx}}}\n", "1: sandbox.paths.a.mode: unknown variant"},
      {"sandbox: {paths: {a: {root: 3}}}\n", "1: sandbox.paths.a.root: must be a string"},
      {"sandbox: {paths: {a: {root: x, suffixes: [md]}}}\n", "1: sandbox.paths.a.suffixes[0]: "},
      {"sandbox: {paths: {old: {mode: ro}}}\n", "1: sandbox.paths.old.root: missing field"},
      {"sandboxes: {a: {path: 3}}\n", "1: sandboxes.a.path: must be a string"},
      {"shell_rules: [{pattern: a, sandbox_paths: [z]}]\n", "1: shell_rules[0].sandbox_paths[0]: "},
      {"attachment_policy: {max_count: -1}\n", "1: attachment_policy.max_count: "},
      {"tool_rules: {shell: {approval_required: 1}}\n", "1: tool_rules.shell.approval_required: "}};
  for (const auto& [workshop, expected] : wrong) {
    const std::string problems = Read(workshop, worker).problems;
    EXPECT_EQ(problems.rfind(std::string(kWorkshop) + ":" + expected, 0), 0u) << problems;
    EXPECT_EQ(problems.find('\n'), std::string::npos) << problems;
  }
  const char* const fine =
      "shell_rules: [{pattern: cat, sandbox_paths: [a, old]}]\n"
      "sandboxes: {a: {path: /x}, old: {path: /y}}\n";
  EXPECT_EQ(Mounts(Read(fine, worker)), "a /home/u/project/a rw\nold /home/u/project/old ro\n");
}

TEST(WorkshopTest, ALinkInItsPlaceIsRefusedByName) {
  FakePolicyHost host;
  host.files = {{kWorkshop, "sandbox: {network: true}\n"}};
  host.links[kWorkshop] = "/home/u/elsewhere.yaml";
  EXPECT_EQ(ReadPolicyOn(host, "instructions: i\n", "w.yaml").problems,
            std::string(kWorkshop) +
                ": is a symbolic link that was not named: put the file itself there");
}

TEST(WorkshopTest, AValueThatIsRefusedLaterNamesTheFileThatItIsIn) {
  const PolicyReading reading = Read("sandbox:\n  network: true\n  paths:\n    a: {root: /proc}\n",
                                     "sandbox:\n  paths:\n    b: {root: /sys}\n");
  const Origins& origins = reading.policy->origins;
  EXPECT_EQ(origins.Locate(testing::RefusalOf("mounts[0].source: /sys: no")).message(),
            "workers/w.yaml:3: sandbox.paths.b.root: /sys: no");
  EXPECT_EQ(origins.Locate(testing::RefusalOf("mounts[1].source: /proc: no")).message(),
            std::string(kWorkshop) + ":4: sandbox.paths.a.root: /proc: no");
  EXPECT_EQ(origins.Locate(testing::RefusalOf("network: full: no")).message(),
            std::string(kWorkshop) + ":2: sandbox.network: true: network: full: no");
}

TEST(WorkshopTest, IsReadBesideTheWorkerOrAboveItsDirectoryOfWorkers) {
  const std::string workshop = "sandbox:\n  network: true\n";
  for (const char* path : {"w.yaml", "./w.yaml", "workers/w.yaml", "/home/u/project/w.yaml"}) {
    EXPECT_TRUE(IsPublic(Read(workshop, "instructions: i\n", path).policy->request.egress)) << path;
  }
  for (const char* path : {"other/w.yaml", "/srv/workers/w.yaml", "workers/x/w.yaml"}) {
    const PolicyReading reading = Read(workshop, "instructions: i\n", path);
    EXPECT_EQ(reading.policy->request.network, policy::Network::kNone) << path;
    EXPECT_TRUE(reading.policy->also_read.empty());
  }
  // The workshop's own file stands for itself.
  EXPECT_TRUE(Read("sandbox: 3\n", workshop, "workshop.yaml").policy->also_read.empty());
}

}  // namespace
}  // namespace odyssey::dialect::llm_do
