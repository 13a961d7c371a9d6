#include "policy/dialect/policy_reader.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "policy/dialect/bundle.h"
#include "policy/dialect/node.h"
#include "tests/fakes/fake_policy_host.h"
#include "tests/fakes/temporary_directory.h"
#include "tests/testing/refusal.h"

namespace odyssey::dialect {
namespace {

using fakes::FakePolicyHost;
using fakes::PolicyReading;
using fakes::ReadPolicyOn;

PolicyReading Read(const std::string& text, const std::string& path) {
  return ReadPolicyOn(FakePolicyHost(), text, path);
}

// The dialect of a file that is read, or its problems.
std::string DialectOf(const std::string& text, const std::string& path = "policy") {
  const PolicyReading reading = Read(text, path);
  return reading.policy ? std::string(DialectName(reading.policy->dialect)) : reading.problems;
}

TEST(PolicyReaderTest, TheContentTellsTheDialect) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"policy_version: odyssey.policy/v1\nsandbox: {}\n", "odyssey.policy/v1"},
      {"{policy_version: 'odyssey.policy/v1', sandbox: {}}", "odyssey.policy/v1"},
      {"// a comment\n{policy_version: 'odyssey.policy/v1', sandbox: {}}", "odyssey.policy/v1"},
      {"version: 1\nprocess: {}\n", "openshell"},
      {"version: 1\n", "openshell"},
      {"sandbox: {paths: {}}\n", "llm-do"},
      {"sandboxes: {}\n", "llm-do"},
      {"tool_rules: {}\n", "llm-do"},
      {"instructions: do\n", "llm-do"},
      {"{\"sandbox\": true}", "odek"},
      {"{\"sandbox_memory\": \"1g\", \"version\": 1}", "odek"},
      {"sandbox_memory: 1g\n", "odek"},
  };
  for (const auto& [text, dialect] : cases) EXPECT_EQ(DialectOf(text), dialect) << text;
}

TEST(PolicyReaderTest, ANameDecidesForAnEmptyOdekConfigurationOnly) {
  EXPECT_EQ(DialectOf("{}", "odek.json"), "odek");
  EXPECT_EQ(DialectOf("{}", "/home/u/.odek/config.json"), "odek");
  EXPECT_EQ(DialectOf("{\"version\": 1, \"process\": {}}", "odek.json"), "openshell");
  EXPECT_NE(DialectOf("{}", "notodek.json").find("no known kind of policy"), std::string::npos);
}

TEST(PolicyReaderTest, EveryDialectTellsWhereItsFieldsWereWritten) {
  const std::string odyssey =
      "policy_version: odyssey.policy/v1\nsandbox:\n  env: {\n    A: LANG}\n  deny: [\n    '*.x']\n"
      "  permissions: {filesystem: {mounts: {read: [\n    /a, /a,\n    /b], write: [/c]}}}\n"
      "  resources: {\n    pids: 9}\n";
  const std::string choices =
      "policy_version: odyssey.policy/v1\nsandbox:\n  mode: read_only\n"
      "  system_tools_mode: explicit\n  system_tools: [\n    /bin/sh]\n  user: 7\n"
      "  landlock: best_effort\n  permissions: {\n    network: ['*']}\n  env: {}\n";
  const std::string openshell =
      "version: 1\nlandlock:\n  compatibility: best_effort\nfilesystem_policy:\n"
      "  include_workdir: true\n  read_only: [/usr,\n    /srv/a]\nprocess:\n"
      "  run_as_user: 4242\n";
  struct Case {
    std::string text;
    const char* message;
    const char* located;
  };
  for (const Case& c : std::initializer_list<Case>{
           {odyssey, "env: A: no", "p:4: sandbox.env.A: LANG: env: A: no"},
           {odyssey, "deny[0]: *.x: no", "p:6: sandbox.deny[0]: *.x: no"},
           {odyssey, "mounts[0].source: /a: no",
            "p:8: sandbox.permissions.filesystem.mounts.read[0]: /a: no"},
           {odyssey, "mounts[1].source: /b: no",
            "p:9: sandbox.permissions.filesystem.mounts.read[2]: /b: no"},
           {odyssey, "mounts[2].source: /c: no",
            "p:9: sandbox.permissions.filesystem.mounts.write[0]: /c: no"},
           {odyssey, "limits.pids: 9: no", "p:11: sandbox.resources.pids: 9: no"},
           {choices, "mode: read_only: no", "p:3: sandbox.mode: read_only: no"},
           {choices, "executables_mode: x: no",
            "p:4: sandbox.system_tools_mode: explicit: executables_mode: x: no"},
           {choices, "executables: no", "p:5: sandbox.system_tools: no"},
           {choices, "executables[0]: no",
            "p:6: sandbox.system_tools[0]: /bin/sh: executables[0]: no"},
           {choices, "user: 7: no", "p:7: sandbox.user: 7: no"},
           {choices, "landlock: no", "p:8: sandbox.landlock: best_effort: landlock: no"},
           {choices, "network: full: no",
            "p:10: sandbox.permissions.network: [\"*\"]: network: full: no"},
           {choices, "env: no", "p:11: sandbox.env: no"},
           {openshell, "user: 4242: no", "p:9: process.run_as_user: 4242: no"},
           {openshell, "landlock: no", "p:3: landlock.compatibility: best_effort: landlock: no"},
           {openshell, "workspace: /w: no",
            "p:5: filesystem_policy.include_workdir: true: workspace: /w: no"},
           {openshell, "mounts[0].source: /srv/a: no",
            "p:7: filesystem_policy.read_only[1]: /srv/a: no"},
           {"sandbox:\n  network: true\n  paths:\n    a: {mode: rw,\n     root: /x}\n",
            "mounts[0].source: /x: no", "p:5: sandbox.paths.a.root: /x: no"},
           {"sandbox:\n  network: true\n", "network: full: no",
            "p:2: sandbox.network: true: network: full: no"},
           {"sandbox_env: {\n A: b}\nsandbox_volumes: [\n './x:/x']\nsandbox_cpus: '2'\n",
            "mounts[0].target: no", "p:4: sandbox_volumes[0]: ./x:/x: mounts[0].target: no"},
           {"sandbox_env: {\n A: b}\nsandbox_cpus: '2'\n", "limits.cpu_millis: no",
            "p:3: sandbox_cpus: 2: limits.cpu_millis: no"},
           {"sandbox_env: {\n A: b}\n", "env: A: no", "p:2: sandbox_env.A: A: no"}}) {
    const PolicyReading reading = Read(c.text, "p");
    ASSERT_EQ(reading.problems, "");
    EXPECT_EQ(reading.policy->origins.Locate(testing::RefusalOf(c.message)).message(), c.located);
  }
}

TEST(PolicyReaderTest, WhatYamlTakesForAText) {
  const auto problems = [](const std::string& sandbox) {
    return Read("policy_version: odyssey.policy/v1\nsandbox:\n" + sandbox, "p.yaml").problems;
  };
  EXPECT_EQ(problems("  mode:read_only\n"),
            "p.yaml:3: sandbox: must be a map, not a string (`mode:read_only`): a key needs `: ` "
            "after it");
  EXPECT_EQ(problems("  system_tools:\n  -sh\n  -ls\n").substr(0, 9), "p.yaml:5:");
  EXPECT_EQ(
      problems("  system_tools:\n    -sh\n"),
      "p.yaml:4: sandbox.system_tools: must be a list, not a string (`-sh`): a `-` needs a space "
      "after it");
}

TEST(PolicyReaderTest, AValueOfAnotherKindIsShownWithWhatIsAllowed) {
  const auto wrong = [](const std::string& sandbox) {
    return Read("policy_version: odyssey.policy/v1\nsandbox: {" + sandbox + "}\n", "p").problems;
  };
  EXPECT_EQ(wrong("mode: 3"),
            "p:2: sandbox.mode: must be one of `read_only`, `workspace_write`, "
            "`danger_full_access`, not a number (`3`)");
  EXPECT_EQ(wrong("landlock: true"),
            "p:2: sandbox.landlock: must be one of `hard_requirement`, `best_effort`, not `true`");
  EXPECT_EQ(wrong("resources: {pids: 512m}"),
            "p:2: sandbox.resources.pids: must be a whole number from 8 to 32768, not a string "
            "(`512m`)");
  EXPECT_EQ(wrong("resources: {pids: '64'}"),
            "p:2: sandbox.resources.pids: must be a whole number from 8 to 32768, not a string "
            "(`64`): leave the quotes out");
  EXPECT_EQ(wrong("resources: {pids: []}"),
            "p:2: sandbox.resources.pids: must be a whole number from 8 to 32768, not a list");
  EXPECT_EQ(wrong("system_tools: [git, 7]"),
            "p:2: sandbox.system_tools[1]: must be a string, not a number (`7`): put it in quotes");
  EXPECT_EQ(wrong("env: {A: false}"),
            "p:2: sandbox.env.A: must be a string, not `false`: put it in quotes");
  EXPECT_EQ(wrong("permissions: {network: full}"),
            "p:2: sandbox.permissions.network: must be a list, not a string (`full`)");
  EXPECT_EQ(wrong("permissions: none"),
            "p:2: sandbox.permissions: must be a map, not a string (`none`)");
  EXPECT_EQ(Read("sandbox: {network: 'true'}\n", "p").problems,
            "p:1: sandbox.network: must be true or false, not a string (`true`): leave the quotes "
            "out");
  EXPECT_EQ(Read("version: 1\nprocess: {run_as_user: 5, run_as_group: 6}\n", "p").problems,
            "p:2: process.run_as_group: must be `sandbox`, or the number in run_as_user: a cell's "
            "group has the number of its user, not `6`");
}

TEST(PolicyReaderTest, WhatIsOfNoKindSaysWhatItHas) {
  const auto begins = [](const std::string& text) {
    const std::string problems = Read(text, "p").problems;
    return problems.substr(0, problems.find(';'));
  };
  EXPECT_EQ(begins("version: '1'\ncolour: red\n"),
            "p:1: no known kind of policy: it has the keys `version`, `colour`");
  EXPECT_EQ(begins("- a\n"), "p:1: no known kind of policy: it is a list");
  EXPECT_EQ(begins("{}\n"), "p:1: no known kind of policy: it is an empty map");
}

TEST(PolicyReaderTest, WhatCannotBeConvertedIsSaidWithItsLine) {
  FakePolicyHost host;
  host.cwd = "";
  host.environment = {{"GH_TOKEN", "x"}, {"AWS_ID", "y"}};
  const std::string text =
      "policy_version: odyssey.policy/v1\nsandbox:\n  env: {A: GH_TOKEN,\n        B: AWS_ID}\n"
      "  permissions: {filesystem: {mounts: {\n    write: [.]}}}\n";
  EXPECT_EQ(ReadPolicyOn(host, text, "p.yaml").problems,
            "p.yaml:3: sandbox.env.A: the variable GH_TOKEN looks like a secret and needs an "
            "operator grant\n"
            "p.yaml:4: sandbox.env.B: the variable AWS_ID looks like a secret and needs an "
            "operator grant\n"
            "p.yaml:6: sandbox.permissions.filesystem.mounts.write[0]: `.` is the client's "
            "directory, and the client named none");
}

// Whoever judges them by himself is told of all, whether or not the client has them.
TEST(PolicyReaderTest, SecretsAreToldToWhoeverJudgesThem) {
  FakePolicyHost host;
  host.judges_secrets = true;
  host.environment = {{"GH_TOKEN", "x"}};
  const auto secrets = [&](const std::string& text, const std::string& file) {
    const auto reading = ReadPolicyOn(host, text, file);
    EXPECT_EQ(reading.problems, "");
    std::vector<std::pair<std::string, std::string>> out;
    for (const auto& [target, source] : reading.policy->secrets) out.emplace_back(target, source);
    return out;
  };
  using Named = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(secrets("policy_version: odyssey.policy/v1\n"
                    "sandbox: {env: {A: GH_TOKEN, B: MY_TOKEN, C: LANG}}\n",
                    "p.yaml"),
            (Named{{"A", "GH_TOKEN"}, {"B", "MY_TOKEN"}}));
  EXPECT_EQ(secrets("{\"sandbox_env\": {\"A\": \"${GH_TOKEN} ${LANG}\", \"B\": \"${MY_TOKEN}\"}}",
                    "odek.json"),
            (Named{{"A", "GH_TOKEN"}, {"B", "MY_TOKEN"}}));
}

TEST(PolicyReaderTest, WhatIsNoPolicyOrTwoIsRefused) {
  EXPECT_EQ(DialectOf("colour: red\n")
                .rfind("policy:1: no known kind of policy: it has the keys `colour`; expected "
                       "`policy_version`",
                       0),
            0u);
  EXPECT_NE(DialectOf("[1]").find("no known kind"), std::string::npos);
  EXPECT_EQ(DialectOf("version: 1\nlandlock: {}\nsandbox_image: x\n"),
            "policy:1: sandbox_image: is a key of odek, and `landlock` one of openshell: a file is "
            "of one kind");
  EXPECT_EQ(DialectOf("apiVersion: odyssey.ai/v9\n"),
            "policy:1: apiVersion: unknown variant `odyssey.ai/v9`, expected one of "
            "`odyssey.ai/bundle.v1`, `odyssey.ai/v1`");
  EXPECT_NE(DialectOf("{\"sandbox\": \"yes\"}").find("no known kind"), std::string::npos);
}

TEST(PolicyReaderTest, ProblemsOfSyntaxComeFirst) {
  EXPECT_EQ(DialectOf("a: 1\na: 2\n", "p.yaml"), "p.yaml:2: duplicate key `a`, first on line 1");
  EXPECT_EQ(DialectOf("{a: 1", "p.json"), "p.json:1: expected `,` or `}`, not the end of the file");
  EXPECT_EQ(DialectOf(""), "policy:1: the file is empty");
}

TEST(PolicyReaderTest, OnlyOdekHasLargeFiles) {
  const std::string filler(kMaxDocumentBytes, ' ');
  EXPECT_EQ(DialectOf("{\"sandbox\": true}" + filler, "odek.json"), "odek");
  EXPECT_EQ(DialectOf("{\"sandbox\": true}" + std::string(kMaxPolicyBytes, ' '), "odek.json"),
            "odek.json: longer than 5242880 bytes");
  EXPECT_EQ(DialectOf("{policy_version: 'odyssey.policy/v1', sandbox: {}}" + filler, "p.json5"),
            "p.json5: longer than 1048576 bytes");
  EXPECT_EQ(DialectOf("version: 1\n" + filler, "p.yaml"), "p.yaml: longer than 1048576 bytes");
}

TEST(PolicyReaderTest, ReadsAPolicyOfItsOwn) {
  FakePolicyHost host;
  host.environment = {{"BASE_URL", "u"}};
  host.links = {{"/srv/data", "/mnt/data"}};
  const PolicyReading reading = ReadPolicyOn(host, R"(
policy_version: odyssey.policy/v1
sandbox:
  mode: read_only
  env: {ENDPOINT: BASE_URL, GONE: NOT_SET}
  permissions:
    filesystem: {mounts: {read: [/srv/data], write: [.]}}
    network: ['*']
  system_tools_mode: standard
)",
                                             "p.yaml");
  ASSERT_EQ(reading.problems, "");
  policy::SandboxRequest expected;
  expected.mode = policy::Mode::kReadOnly;
  expected.network = policy::Network::kEgress;
  expected.egress = egress::PublicPolicy("sandbox.permissions.network");
  expected.env = {{"ENDPOINT", "u"}};
  expected.mounts = {
      {"/mnt/data", "/workspace/mount/read/abs/srv/data", policy::Access::kReadOnly},
      {"/home/u/project", "/workspace/mount/write/current", policy::Access::kReadWrite}};
  expected.limits = {.memory_bytes = uint64_t{512} << 20, .cpu_millis = 1000};
  expected.unsaid_limits = expected.limits;
  EXPECT_EQ(reading.policy->request, expected);
}

TEST(PolicyReaderTest, APolicyOfItsOwnIsStrict) {
  const std::string head = "policy_version: odyssey.policy/v1\n";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"policy_version: odyssey.policy/v2\nsandbox: {}\n",
       "p.yaml:1: policy_version: unknown variant `odyssey.policy/v2`, expected "
       "`odyssey.policy/v1`"},
      {head, "p.yaml:1: sandbox: missing field `sandbox`"},
      {head + "sandbox: {}\nid: x\n", "p.yaml:3: id: unknown field `id`"},
      {head + "sandbox: {mode: danger}\n", "p.yaml:2: sandbox.mode: unknown variant `danger`"},
      {head + "sandbox: {permissions: {filesystem: {exec: [run.sh]}}}\n",
       "p.yaml:2: sandbox.permissions.filesystem.exec[0]: only a bundle has files of its own"},
  };
  for (const auto& [text, problem] : cases) {
    EXPECT_EQ(Read(text, "p.yaml").problems.rfind(problem, 0), 0u) << Read(text, "p.yaml").problems;
  }
}

TEST(PolicyReaderTest, WarnsOfAPatternThatWasWrittenForAnotherTool) {
  const PolicyReading reading =
      Read("policy_version: odyssey.policy/v1\nsandbox:\n  deny:\n  - '**/.env'\n  - '*.[pk]em'\n",
           "p.yaml");
  ASSERT_TRUE(reading.policy) << reading.problems;
  EXPECT_EQ(reading.warnings,
            "p.yaml:5: sandbox.deny[1]: `*.[pk]em`: `[` stands for itself: only `*`, `?`, and `**` "
            "as a whole component do not");
}

// A bundle of the newer form in a directory, read as it is.
class BundlePolicyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_.Write("README.md", "r");
    directory_.Write("odyssey.bundle.yaml", manifest_);
    directory_.Write("agents/one/agent.yaml", agent_);
  }
  const std::string manifest_ =
      "apiVersion: odyssey.ai/bundle.v1\nkind: AgentBundle\n"
      "metadata: {name: demo, version: 0.1.0, readme: README.md}\n"
      "spec:\n  agents: [{id: one, spec: agents/one/agent.yaml}]\n"
      "  sandbox: {mode: read_only, system_tools_mode: standard}\n";
  const std::string agent_ =
      "apiVersion: odyssey.ai/v1\nkind: Agent\nmetadata: {name: one}\n"
      "spec: {prompt: p, model: {provider: a, name: b}}\n";
  fakes::TemporaryDirectory directory_;
};

TEST_F(BundlePolicyTest, AManifestAndAnAgentAreReadWithTheirBundle) {
  const std::string manifest = directory_.path() + "/odyssey.bundle.yaml";
  const std::string agent = directory_.path() + "/agents/one/agent.yaml";
  for (const auto& [path, text] : {std::pair(manifest, manifest_), std::pair(agent, agent_)}) {
    const PolicyReading reading = Read(text, path);
    ASSERT_EQ(reading.problems, "");
    EXPECT_EQ(reading.policy->dialect, Dialect::kBundle);
    EXPECT_EQ(reading.policy->request.mode, policy::Mode::kReadOnly);
    EXPECT_EQ(BundleOf(path), directory_.path());
  }
}

TEST_F(BundlePolicyTest, NoFileStandsForAnother) {
  const std::string other = directory_.path() + "/other.yaml";
  EXPECT_EQ(Read(manifest_, other).problems.rfind(other + ": is read with its bundle", 0), 0u);
  const std::string agent = directory_.Write("agents/two/agent.yaml", agent_);
  EXPECT_EQ(Read(agent_, agent).problems,
            agent + ": is no agent of the bundle in " + directory_.path());
}

TEST_F(BundlePolicyTest, AnAgentIsFoundByItsFile) {
  const Result<Bundle> bundle = LoadBundle(directory_.path());
  EXPECT_EQ(FindAgentOfFile(*bundle, directory_.path() + "/agents/../agents/one/agent.yaml")->id,
            "one");
  EXPECT_FALSE(FindAgentOfFile(*bundle, directory_.path() + "/README.md").ok());
}

TEST_F(BundlePolicyTest, ABundleTellsEveryProblem) {
  directory_.Write("odyssey.bundle.yaml", manifest_ + "  colour: red\n  tools: [{name: Raed}]\n");
  Problems problems;
  EXPECT_FALSE(ReadBundlePolicy(directory_.path(), FakePolicyHost().Context(), &problems));
  EXPECT_EQ(problems.size(), 2u);
}

}  // namespace
}  // namespace odyssey::dialect
