#include "policy/dialect/bundle.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "policy/model/tool_table.h"

namespace odyssey::dialect {
namespace {

constexpr char kAgent[] =
    "id: demo\nprompt: |\n  You help.\nmodel: {provider: script, name: s}\n"
    "tools: {allow: [Read], ask: ['Bash(find:*)'], deny: []}\n";

// A project directory with a README, an agent, a skill, and a file outside of it.
class BundleTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = ::testing::TempDir() + "bundle.XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    base_ = name;
    root_ = name + "/project";
    Write("README.md", "hello");
    Write("agent.yaml", kAgent);
    Write("skills/bookstore/SKILL.md", "sell");
    Write("../outside.yaml", "{ not yaml");
  }
  void TearDown() override { std::filesystem::remove_all(base_); }

  void Write(const std::string& path, const std::string& text) {
    const std::filesystem::path full = root_ + "/" + path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full) << text;
  }
  // A manifest with `extra` members; `replace` stands for the member of the same name.
  void WriteManifest(const std::string& extra, const std::string& replace = "") {
    std::string text = "{\n";
    for (const std::string line :
         {"id: 'demo'", "version: '0.1.0'", "manifest_version: 'odyssey.bundle/v1'",
          "readme: 'README.md'", "agent_spec: 'agent.yaml'",
          "executor: {type: 'prebuilt', id: 'react'}"}) {
      const bool replaced = replace.substr(0, replace.find(':')) == line.substr(0, line.find(':'));
      text += (replaced ? replace : line) + ",\n";
    }
    Write("odyssey.bundle.json5", text + extra + "\n}\n");
  }
  // The problems, one a line, without the directory.
  std::string Problems() {
    std::string out;
    for (const Problem& problem : ValidateBundle(root_)) {
      std::string text = ToString(problem);
      const size_t at = text.find(root_ + "/");
      if (at == 0) text = text.substr(root_.size() + 1);
      out += (out.empty() ? "" : "\n") + text;
    }
    EXPECT_EQ(out.empty(), LoadBundle(root_).ok());
    return out;
  }
  std::string ProblemsOf(const std::string& extra, const std::string& replace = "") {
    WriteManifest(extra, replace);
    return Problems();
  }
  std::string ProblemsOfAgent(const std::string& agent) {
    WriteManifest("");
    Write("agent.yaml", agent);
    return Problems();
  }

  std::string base_;
  std::string root_;
};

TEST_F(BundleTest, TheMinimalManifestHasTheDocumentedDefaults) {
  WriteManifest("");
  const Result<Bundle> bundle = LoadBundle(root_);
  ASSERT_TRUE(bundle.ok()) << bundle.status().message();
  EXPECT_EQ(bundle->id, "demo");
  EXPECT_EQ(bundle->version, "0.1.0");
  EXPECT_EQ(bundle->readme, "hello");
  EXPECT_EQ(bundle->manifest_path, root_ + "/odyssey.bundle.json5");
  EXPECT_TRUE(bundle->skills.empty());
  EXPECT_TRUE(bundle->tools.empty());
  EXPECT_EQ(bundle->sandbox, SandboxSpec{});
  EXPECT_EQ(bundle->sandbox.mode, SandboxMode::kWorkspaceWrite);
  EXPECT_EQ(bundle->sandbox.network, policy::Network::kNone);
  EXPECT_EQ(bundle->sandbox.system_tools_mode, policy::ExecutablesMode::kExplicit);
  EXPECT_EQ(bundle->sandbox.limits.cpu_millis, 1000u);
  EXPECT_EQ(bundle->sandbox.limits.memory_bytes, uint64_t{512} << 20);
  ASSERT_EQ(bundle->agents.size(), 1u);
  const AgentSpec& agent = bundle->agents[0];
  EXPECT_EQ(agent.prompt, "You help.\n");
  EXPECT_EQ(agent.model, (ModelSpec{"script", "s", "null"}));
  EXPECT_EQ(agent.tools.ask, std::vector<std::string>{"Bash(find:*)"});
  EXPECT_EQ(agent.executor, "react");
  EXPECT_EQ(agent.memory, MemorySpec{});
}

TEST_F(BundleTest, RulesNameServersThatThereAre) {
  const auto problems = [this](const std::string& rules) {
    WriteManifest("mcp_servers: {notes: {command: ['x']}}");
    Write("agent.yaml", "id: a\nprompt: p\nmodel: {provider: script, name: s}\ntools: " + rules);
    return Problems();
  };
  EXPECT_EQ(problems("{allow: [mcp__notes__add, 'mcp__notes__*', 'mcp__*']}"), "");
  EXPECT_EQ(problems("{deny: [mcp__note__add]}"),
            "agent.yaml:4: tools.deny[0]: `mcp__note__add`: the manifest names no server `note` in "
            "mcp_servers");
  EXPECT_EQ(problems("{ask: [Read, ' mcp__x__* ']}"),
            "agent.yaml:4: tools.ask[1]: `mcp__x__*`: the manifest names no server `x` in "
            "mcp_servers");
  EXPECT_EQ(problems("{ask: ['mcp__notes__add(x)']}"),
            "agent.yaml:4: tools.ask[0]: agent.tools.ask entry `mcp__notes__add(x)`: a tool of an "
            "MCP server has no target; name it as mcp__SERVER__TOOL");
  EXPECT_EQ(problems("{ask: ['mcp__notes__a?']}"),
            "agent.yaml:4: tools.ask[0]: agent.tools.ask entry `mcp__notes__a?`: must be "
            "mcp__SERVER__TOOL, where * is any text");
}

TEST_F(BundleTest, ReadsEveryField) {
  Write("scripts/run.sh", "");
  WriteManifest(R"(
    memory: {type: 'prebuilt', id: 'sliding_window', config: {max_window: 20}},
    skills: [{name: 'sell', path: './skills/bookstore'}],
    tools: [{name: 'Read'}, {name: 'Bash', source: 'builtin'}],
    sandbox: {
      mode: 'read_only',
      env: {OPENAI_API_KEY: 'OPENAI_API_KEY', MODEL_ENDPOINT: 'OPENAI_BASE_URL'},
      permissions: {
        filesystem: {exec: ['scripts/run.sh'], mounts: {read: ['.', '/srv//data/'], write: ['./.']}},
        network: ['*'],
      },
      system_tools_mode: 'standard', system_tools: ['sh', '/usr/bin/git'],
      resources: {cpu: 2, pids: 64, wall_clock_s: 30, cpu_seconds: 5, output_bytes: 1000},
    })");
  const Result<Bundle> bundle = LoadBundle(root_);
  ASSERT_TRUE(bundle.ok()) << bundle.status().message();
  EXPECT_EQ(bundle->agents[0].memory.max_window, 20u);
  EXPECT_EQ(bundle->skills, (std::vector<Skill>{{"sell", "skills/bookstore"}}));
  EXPECT_EQ(bundle->tools, (std::vector<std::string>{"Read", "Bash"}));
  const SandboxSpec expected = {
      .mode = SandboxMode::kReadOnly,
      .env = {{"MODEL_ENDPOINT", "OPENAI_BASE_URL"}, {"OPENAI_API_KEY", "OPENAI_API_KEY"}},
      .exec = {"scripts/run.sh"},
      .read_mounts = {".", "/srv/data"},
      .write_mounts = {"."},
      .network = policy::Network::kEgress,
      .egress = egress::PublicPolicy("sandbox.permissions.network"),
      .system_tools_mode = policy::ExecutablesMode::kStandard,
      .system_tools = {"sh", "/usr/bin/git"},
      .limits = {.memory_bytes = uint64_t{512} << 20,
                 .cpu_millis = 2000,
                 .pids = 64,
                 .wall_clock_ms = 30'000,
                 .cpu_seconds = 5},
      .unsaid_limits = {.memory_bytes = uint64_t{512} << 20},
      .output_bytes = 1000,
  };
  EXPECT_EQ(bundle->sandbox, expected);
}

TEST_F(BundleTest, ResourcesKeepTheirDefaultsFieldByField) {
  WriteManifest("sandbox: {resources: {}}");
  EXPECT_EQ(LoadBundle(root_)->sandbox, SandboxSpec{});
  WriteManifest("sandbox: {resources: {cpu: 2}}");
  EXPECT_EQ(LoadBundle(root_)->sandbox.limits.memory_bytes, uint64_t{512} << 20);
  EXPECT_EQ(ProblemsOf("sandbox: {resources: {cpu: 1.5}}"),
            "odyssey.bundle.json5:8: sandbox.resources.cpu: must be a whole number from 1 to 1024, "
            "not 1.5");
  EXPECT_EQ(LoadBundle(root_).status().message().rfind("invalid manifest at ", 0), 0u);
  EXPECT_NE(ProblemsOf("sandbox: {resources: {cpu: 'one'}}"), "");
  EXPECT_EQ(LoadBundle(root_).status().message().rfind("json5 parse error at ", 0), 0u);
}

TEST_F(BundleTest, RefusesProvidersThatItDoesNotHave) {
  EXPECT_EQ(ProblemsOf("", "executor: {type: 'custom', id: 'react'}"),
            "odyssey.bundle.json5:7: executor.type: unknown variant `custom`, expected `prebuilt`: "
            "only prebuilt executors are supported in v1");
  EXPECT_EQ(ProblemsOf("memory: {type: 'custom', id: 'sliding_window'}"),
            "odyssey.bundle.json5:8: memory.type: unknown variant `custom`, expected `prebuilt`: "
            "only prebuilt memory providers are supported in v1");
  EXPECT_EQ(ProblemsOf("", "executor: {type: 'prebuilt', id: 'planner'}"),
            "odyssey.bundle.json5:7: executor.id: unsupported prebuilt executor: planner, expected "
            "`react`");
  EXPECT_EQ(ProblemsOf("", "executor: {type: 'prebuilt', id: ' '}"),
            "odyssey.bundle.json5:7: executor.id: executor id cannot be empty");
  EXPECT_EQ(ProblemsOf("memory: {type: 'prebuilt', id: 'vector'}"),
            "odyssey.bundle.json5:8: memory.id: unsupported prebuilt memory provider: vector, "
            "expected `sliding_window`, `summarizing_window`");
  EXPECT_EQ(
      ProblemsOf("", "manifest_version: 'odyssey.bundle/v2'"),
      "odyssey.bundle.json5:4: manifest_version: unknown variant `odyssey.bundle/v2`, expected "
      "`odyssey.bundle/v1`");
}

TEST_F(BundleTest, IdsAreOneComponent) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "cannot be empty"},
      {" ", "cannot be empty"},
      {"/a", "must be a relative path component: `/a`"},
      {"..", "must not contain path separators or traversal segments: `..`"},
      {"a/b", "must not contain path separators or traversal segments: `a/b`"},
      {".a", "must match [A-Za-z0-9][A-Za-z0-9._-]{0,127}: `.a`"},
  };
  for (const auto& [id, message] : cases) {
    EXPECT_EQ(ProblemsOf("", "id: '" + id + "'"),
              "odyssey.bundle.json5:2: id: bundle id " + message);
    EXPECT_EQ(ProblemsOf("", "version: '" + id + "'"),
              "odyssey.bundle.json5:3: version: bundle version " + message);
  }
  EXPECT_NE(ProblemsOf("skills: [{name: '../../evil', path: 'skills/bookstore'}]"), "");
  EXPECT_NE(ProblemsOf("skills: [{name: '/tmp/evil', path: 'skills/bookstore'}]"), "");
  EXPECT_EQ(ProblemsOf("skills: [{name: 'ok', path: 'skills/bookstore'}]"), "");
}

TEST_F(BundleTest, NothingOutsideTheProjectIsOpened) {
  EXPECT_EQ(
      ProblemsOf("", "agent_spec: '../outside.yaml'"),
      "odyssey.bundle.json5:6: agent_spec: agent spec path must stay inside the project root: "
      "`../outside.yaml`");
  EXPECT_EQ(ProblemsOf("", "agent_spec: '/etc/passwd'"),
            "odyssey.bundle.json5:6: agent_spec: agent spec path must be relative to the project "
            "root: `/etc/passwd`");
  std::filesystem::create_symlink(base_ + "/outside.yaml", root_ + "/link.yaml");
  EXPECT_EQ(
      ProblemsOf("", "agent_spec: 'link.yaml'"),
      "odyssey.bundle.json5:6: agent_spec: agent spec path must stay inside the project root: "
      "`link.yaml`");
  std::filesystem::create_symlink("agent.yaml", root_ + "/inside.yaml");
  EXPECT_EQ(ProblemsOf("", "agent_spec: 'inside.yaml'"), "");
  EXPECT_EQ(ProblemsOf("", "agent_spec: 'nope.yaml'"),
            "odyssey.bundle.json5:6: agent_spec: agent spec path does not exist: `nope.yaml`");
  EXPECT_EQ(
      ProblemsOf("", "readme: 'skills'"),
      "odyssey.bundle.json5:5: readme: readme path must be a file, not a directory: `skills`");
  ASSERT_EQ(mkfifo((root_ + "/fifo").c_str(), 0600), 0);
  EXPECT_EQ(ProblemsOf("", "readme: 'fifo'"),
            "odyssey.bundle.json5:5: readme: readme path must be a file, not a FIFO: `fifo`");
  EXPECT_EQ(ProblemsOf("", "agent_spec: 'fifo'"),
            "odyssey.bundle.json5:6: agent_spec: agent spec path must be a file, not a FIFO: "
            "`fifo`");
  EXPECT_EQ(ProblemsOf("", "readme: 'none.md'"),
            "odyssey.bundle.json5:5: readme: readme path does not exist: `none.md`");
  std::filesystem::create_symlink("loop.md", root_ + "/loop.md");
  EXPECT_EQ(
      ProblemsOf("", "readme: 'loop.md'"),
      "odyssey.bundle.json5:5: readme: readme path cannot be opened (openat2: Too many levels "
      "of symbolic links): `loop.md`");
  EXPECT_EQ(ProblemsOf("", "readme: ''"),
            "odyssey.bundle.json5:5: readme: bundle readme cannot be empty");
}

TEST_F(BundleTest, AManifestThatIsALinkOutIsRefused) {
  Write("../other.json5", "{");
  std::filesystem::create_symlink(base_ + "/other.json5", root_ + "/odyssey.bundle.json5");
  EXPECT_NE(Problems().find("manifest must stay inside the project root"), std::string::npos);
}

TEST_F(BundleTest, UnknownKeysAreErrorsAtEveryLevel) {
  EXPECT_EQ(
      ProblemsOf("x: 1"),
      "odyssey.bundle.json5:8: x: unknown field `x`, expected one of `manifest_version`, `id`, "
      "`version`, `executor`, `memory`, `agent_spec`, `readme`, `skills`, `tools`, "
      "`mcp_servers`, `sandbox`");
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"memory: {type: 'prebuilt', id: 'sliding_window', x: 1}", "memory.x"},
      {"memory: {type: 'prebuilt', id: 'sliding_window', config: {x: 1}}", "memory.config.x"},
      {"skills: [{name: 'a', path: 'skills', x: 1}]", "skills[0].x"},
      {"tools: [{name: 'Read', x: 1}]", "tools[0].x"},
      {"sandbox: {x: 1}", "sandbox.x"},
      {"sandbox: {permissions: {tools: 1}}", "sandbox.permissions.tools"},
      {"sandbox: {permissions: {filesystem: {x: 1}}}", "sandbox.permissions.filesystem.x"},
      {"sandbox: {permissions: {filesystem: {mounts: {x: 1}}}}",
       "sandbox.permissions.filesystem.mounts.x"},
      {"sandbox: {resources: {x: 1}}", "sandbox.resources.x"},
  };
  for (const auto& [extra, key] : cases) {
    const std::string problem = ProblemsOf(extra);
    EXPECT_EQ(problem.find("odyssey.bundle.json5:8: " + key + ": unknown field `"), 0u) << problem;
    EXPECT_EQ(LoadBundle(root_).status().message().find("json5 parse error at "), 0u);
  }
  EXPECT_NE(ProblemsOf("", "executor: {type: 'prebuilt', id: 'react', x: 1}"), "");
  EXPECT_EQ(ProblemsOf("", "executor: {type: 'prebuilt', id: 'react', config: {x: 1}}"),
            "odyssey.bundle.json5:7: executor.config.x: unknown field `x`: there are none here");
  EXPECT_EQ(ProblemsOf("memory: {type: 'prebuilt', id: 'sliding_window', config: {x: 1}}"),
            "odyssey.bundle.json5:8: memory.config.x: unknown field `x`, expected one of "
            "`max_window`, `window_size`, `max_tokens`");
}

TEST_F(BundleTest, ReadsWhatAPieceOfWorkMayUse) {
  const std::string agent = std::string(kAgent) + "delegation: {budget: ";
  EXPECT_EQ(
      ProblemsOfAgent(agent + "{tokens: 9, cost_usd: 0.5, tool_calls: 3, wall_clock_s: 2}}\n"), "");
  EXPECT_EQ(LoadBundle(root_)->agents[0].delegation.budget, (policy::Budget{9, 500'000, 3, 2000}));
  for (const char* dollars : {"0", "-1", "1e2", "'1'", "0.0000001", "1000001"}) {
    EXPECT_NE(ProblemsOfAgent(agent + "{cost_usd: " + dollars + "}}\n")
                  .find("delegation.budget.cost_usd: must be a number of dollars"),
              std::string::npos)
        << dollars;
  }
}

TEST_F(BundleTest, ReadsTheBoundsOfAWindowAndOfItsSummary) {
  const auto memory = [&](const std::string& section) {
    EXPECT_EQ(ProblemsOf(section), "");
    return LoadBundle(root_)->agents[0].memory;
  };
  EXPECT_EQ(memory("memory: {type: 'prebuilt', id: 'sliding_window', config: {max_tokens: 900}}"),
            (MemorySpec{MemoryKind::kSlidingWindow, 100, 900, 1000}));
  EXPECT_EQ(memory("memory: {type: 'prebuilt', id: 'summarizing_window'}"),
            (MemorySpec{MemoryKind::kSummarizingWindow, 100, 0, 1000}));
  EXPECT_EQ(memory("memory: {type: 'prebuilt', id: 'summarizing_window', config: {max_window: 8, "
                   "max_tokens: 900, summary_tokens: 60}}"),
            (MemorySpec{MemoryKind::kSummarizingWindow, 8, 900, 60}));
  EXPECT_NE(ProblemsOf("memory: {type: 'prebuilt', id: 'sliding_window', "
                       "config: {summary_tokens: 60}}")
                .find("memory.config.summary_tokens: unknown field"),
            std::string::npos);
  EXPECT_NE(ProblemsOf("memory: {type: 'prebuilt', id: 'sliding_window', config: {max_tokens: 9}}")
                .find("memory.config.max_tokens"),
            std::string::npos);
}

TEST_F(BundleTest, ChecksToolsMountsEnvAndNetwork) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"tools: [{name: 'Read', source: 'mcp'}]",
       "tools[0].source: only builtin tools are supported in v1: `mcp`"},
      {"tools: [{name: 'Raed'}]",
       "tools[0].name: unknown tool `Raed`, expected one of `Bash`, `Edit`, `Glob`, `Grep`, `Job`, "
       "`LS`, `MultiEdit`, `Read`, `Skill`, `Write`, `worker_call`"},
      {"sandbox: {permissions: {network: ['api.example.com']}}",
       "sandbox.permissions.network: sandbox.permissions.network only supports [] or [\"*\"] in "
       "v1, not `api.example.com`; network_policies names hosts"},
      {"sandbox: {permissions: {network: ['*', '*']}}",
       "sandbox.permissions.network: sandbox.permissions.network only supports [] or [\"*\"] in "
       "v1, not `*, *`; network_policies names hosts"},
      {"sandbox: {env: {'1BAD': 'A'}}",
       "sandbox.env.1BAD: sandbox.env target entry `1BAD` must start with an ASCII letter or "
       "underscore"},
      {"sandbox: {env: {A: 'BAD-NAME'}}",
       "sandbox.env.A: sandbox.env source entry `BAD-NAME` must contain only ASCII letters, "
       "digits, "
       "or underscores"},
      {"sandbox: {env: {A: ''}}", "sandbox.env.A: sandbox.env source entries cannot be empty"},
      {"sandbox: {mode: 'none'}",
       "sandbox.mode: unknown variant `none`, expected one of `read_only`, `workspace_write`, "
       "`danger_full_access`"},
      {"sandbox: {permissions: {filesystem: {exec: ['']}}}",
       "sandbox.permissions.filesystem.exec[0]: sandbox exec path cannot be empty"},
      {"sandbox: {system_tools: ['bin/x']}",
       "sandbox.system_tools[0]: a system tool must be a name or an absolute path: `bin/x`"},
      {"sandbox: {permissions: {filesystem: {mounts: {read: ['/a*']}}}}",
       "sandbox.permissions.filesystem.mounts.read[0]: glob patterns are not supported in sandbox "
       "paths: /a*"},
  };
  for (const auto& [extra, problem] : cases) {
    EXPECT_EQ(ProblemsOf(extra), "odyssey.bundle.json5:8: " + problem);
  }
  for (const char* mount : {"x", "./x", "", "..", "/a/../b"}) {
    EXPECT_EQ(ProblemsOf("sandbox: {permissions: {filesystem: {mounts: {write: ['" +
                         std::string(mount) + "']}}}}"),
              "odyssey.bundle.json5:8: sandbox.permissions.filesystem.mounts.write[0]: write mount "
              "must be an absolute host path or `.`, without `..`: `" +
                  std::string(mount) + "`");
  }
  EXPECT_EQ(
      ProblemsOf("sandbox: {permissions: {filesystem: {mounts: {read: ['/a\\tb']}}}}"),
      "odyssey.bundle.json5:8: sandbox.permissions.filesystem.mounts.read[0]: read mount must "
      "not hold a control character: `/a\tb`");
  for (const char* mount : {".", "./", "./."}) {
    WriteManifest("sandbox: {permissions: {filesystem: {mounts: {read: ['" + std::string(mount) +
                  "']}}}}");
    EXPECT_EQ(LoadBundle(root_)->sandbox.read_mounts, std::vector<std::string>{"."});
  }
}

TEST_F(BundleTest, ReportsEveryProblemInOrder) {
  Write("agent.yaml",
        "id: ''\nprompt: ' '\nmodel: {provider: a, name: ''}\ntools: {ask: ['Bash(']}\n");
  EXPECT_EQ(
      ProblemsOf("sandbox: {env: {A: ''}, permissions: {network: ['x']}}, wrong: 1", "id: ''"),
      "odyssey.bundle.json5:8: wrong: unknown field `wrong`, expected one of `manifest_version`, "
      "`id`, `version`, `executor`, `memory`, `agent_spec`, `readme`, `skills`, `tools`, "
      "`mcp_servers`, `sandbox`\n"
      "odyssey.bundle.json5:2: id: bundle id cannot be empty\n"
      "odyssey.bundle.json5:8: sandbox.env.A: sandbox.env source entries cannot be empty\n"
      "odyssey.bundle.json5:8: sandbox.permissions.network: sandbox.permissions.network only "
      "supports [] or [\"*\"] in v1, not `x`; network_policies names hosts\n"
      "agent.yaml:1: id: agent id cannot be empty\n"
      "agent.yaml:2: prompt: agent prompt cannot be empty\n"
      "agent.yaml:3: model.name: agent model provider and name are required\n"
      "agent.yaml:4: tools.ask[0]: agent.tools.ask entry `Bash(` must end with `)` when using a "
      "granular matcher");
  EXPECT_NE(LoadBundle(root_).status().message().find(" (and 7 more)"), std::string::npos);
}

TEST_F(BundleTest, ChecksTheAgent) {
  EXPECT_EQ(ProblemsOfAgent("id: a\nmodel: {provider: p, name: n}\n"),
            "agent.yaml:1: prompt: missing field `prompt`");
  EXPECT_EQ(LoadBundle(root_).status().message().find("yaml parse error at "), 0u);
  EXPECT_EQ(
      ProblemsOfAgent("id: a\nprompt: p\nmodel: {provider: p, name: n, x: 1}\n"),
      "agent.yaml:3: model.x: unknown field `x`, expected one of `provider`, `name`, `config`");
  EXPECT_EQ(ProblemsOfAgent("id: a\nid: b\nprompt: p\nmodel: {provider: p, name: n}\n"),
            "agent.yaml:2: duplicate key `id`, first on line 1");
  EXPECT_EQ(ProblemsOfAgent("id: a\nprompt: p\nmodel: {provider: p, name: 1}\n"),
            "agent.yaml:3: model.name: must be a string, not a number (`1`): put it in quotes");
  EXPECT_EQ(ProblemsOfAgent("id: a\nprompt: p\nmodel: {provider: p, name: n}\n"
                            "tools: {deny: ['Bsh(curl:*)']}\n")
                .find("agent.yaml:4: tools.deny[0]: agent.tools.deny entry `Bsh(curl:*)` names an "
                      "unknown tool `Bsh`"),
            0u);
  EXPECT_EQ(ProblemsOfAgent("- 1\n"), "agent.yaml:1: must be a map, not a list");
}

TEST_F(BundleTest, ChecksTheExamplesBesideARule) {
  const std::string head = "id: a\nprompt: p\nmodel: {provider: p, name: n}\ntools:\n";
  EXPECT_EQ(
      ProblemsOfAgent(head +
                      "  deny:\n"
                      "    - Write\n"
                      "    - rule: Bash(git push:*)\n"
                      "      match: ['git -C x push', \"sh -c 'git push'\"]\n"
                      "      not_match: [git status]\n"
                      "    - {rule: Read(secrets/**), match: [./secrets/a], not_match: [a]}\n"
                      "  allow: [{rule: 'Bash(ls:*)', match: [ls | ls], not_match: [ls; rm a]}]\n"),
      "");
  const Result<Bundle> bundle = LoadBundle(root_);
  ASSERT_TRUE(bundle.ok()) << bundle.status().message();
  EXPECT_EQ(FindAgent(*bundle, "a")->tools.deny,
            (std::vector<std::string>{"Write", "Bash(git push:*)", "Read(secrets/**)"}));

  EXPECT_EQ(
      ProblemsOfAgent(head + "  deny:\n"
                             "    - rule: Bash(git push:*)\n"
                             "      match: [git pull]\n"
                             "      not_match:\n"
                             "        - git -C x push\n"
                             "        - git 'x\n"),
      "agent.yaml:7: tools.deny[0].match[0]: example `git pull` of Bash(git push:*): the rule "
      "does not fit it\n"
      "agent.yaml:9: tools.deny[0].not_match[0]: example `git -C x push` of Bash(git push:*): "
      "the rule fits it\n"
      "agent.yaml:10: tools.deny[0].not_match[1]: example `git 'x` of Bash(git push:*): "
      "invalid shell command: missing closing quote");
  EXPECT_EQ(ProblemsOfAgent(head + "  ask: [{rules: Bash}]\n").find("agent.yaml:5: tools.ask[0]"),
            0u);
}

TEST_F(BundleTest, ReadsTheOpinionOnRisks) {
  const std::string head = "id: a\nprompt: p\nmodel: {provider: p, name: n}\ntools:\n";
  EXPECT_EQ(ProblemsOfAgent(head + "  risk: {network_egress: ask, destructive: deny}\n"), "");
  EXPECT_EQ(
      FindAgent(*LoadBundle(root_), "a")->tools.risk,
      (std::map<std::string, std::string>{{"destructive", "deny"}, {"network_egress", "ask"}}));
  EXPECT_EQ(ProblemsOfAgent(head + "  risk: {network: ask}\n")
                .find("agent.yaml:5: tools.risk.network: there is no risk class `network`; there "
                      "are safe, local_write"),
            0u);
  EXPECT_EQ(ProblemsOfAgent(head + "  risk: {install: maybe}\n"),
            "agent.yaml:5: tools.risk.install: must be one of allow, ask, deny, not `maybe`");
}

// A tool that no session would have is named, wherever a bundle names it.
TEST_F(BundleTest, WhatIsNoRowOfTheTableIsNoTool) {
  for (const policy::ToolRow& row : policy::kTools) {
    const std::string with = row.comes_with == nullptr ? row.name : row.comes_with;
    const std::string named = std::string("tools: [{name: '") + row.name + "'}";
    EXPECT_EQ(ProblemsOf(named + ", {name: '" + with + "'}]"), "") << row.name;
  }
  EXPECT_NE(ProblemsOf("tools: [{name: 'Job'}]").find("`Job` comes with `Bash`"),
            std::string::npos);
  for (const std::string tool : {"Question", "WebFetch", "read"}) {
    const std::string unknown = "unknown tool `" + tool + "`, expected one of `Bash`, ";
    EXPECT_NE(ProblemsOf("tools: [{name: 'Read'}, {name: '" + tool + "'}]")
                  .find("odyssey.bundle.json5:8: tools[1].name: " + unknown),
              std::string::npos);
    for (const char* rule : {"", "(a)"}) {
      for (const char* verb : {"allow", "ask", "deny"}) {
        const std::string problems =
            ProblemsOfAgent("id: a\nprompt: p\nmodel: {provider: p, name: n}\ntools: {" +
                            std::string(verb) + ": ['" + tool + rule + "']}\n");
        EXPECT_NE(problems.find(" names an " + unknown), std::string::npos) << problems;
      }
    }
  }
}

TEST_F(BundleTest, ModelConfigIsKeptAsJson) {
  WriteManifest("");
  Write("agent.yaml",
        "id: a\nprompt: p\nmodel: {provider: p, name: n, config: {top_p: 0.5, x: [a]}}\n");
  EXPECT_EQ(LoadBundle(root_)->agents[0].model.config, R"({"top_p":0.5,"x":["a"]})");
}

TEST_F(BundleTest, TheSameKeysMayBeYaml) {
  Write("odyssey.bundle.yaml",
        "manifest_version: odyssey.bundle/v1\nid: demo\nversion: '1'\nreadme: README.md\n"
        "agent_spec: agent.yaml\nexecutor: {type: prebuilt, id: react}\n"
        "sandbox:\n  mode: read_only\n");
  const Result<Bundle> bundle = LoadBundle(root_);
  ASSERT_TRUE(bundle.ok()) << bundle.status().message();
  EXPECT_EQ(bundle->sandbox.mode, SandboxMode::kReadOnly);
  WriteManifest("");
  EXPECT_NE(Problems().find("holds both odyssey.bundle.json5 and odyssey.bundle.yaml: keep one"),
            std::string::npos);
}

constexpr char kBundleV1[] = R"(apiVersion: odyssey.ai/bundle.v1
kind: AgentBundle
metadata: {name: demo, version: 0.1.0, readme: README.md}
spec:
  abiVersion: v1
  agents:
    - {id: one, spec: agents/one/agent.yaml, default: true}
    - {id: two, spec: agents/two/agent.yaml}
  tools: [{name: Read}, {name: Bash}, {name: Write}]
  sandbox: {mode: read_only}
)";
constexpr char kAgentV1[] = R"(apiVersion: odyssey.ai/v1
kind: Agent
metadata: {name: one, version: 0.1.0, description: first}
spec:
  kind: prompt
  abiVersion: v1
  prompt: p
  model: {provider: script, name: s}
  execution: {executor: react/v1, memory: session-window/v1, memory_config: {max_window: 7}}
  requires: {tools: [Read], features: []}
  tools: {require: [Read, Bash], ask: [Bash]}
)";

TEST_F(BundleTest, TheNewerFormHasSeveralAgents) {
  Write("odyssey.bundle.yaml", kBundleV1);
  Write("agents/one/agent.yaml", kAgentV1);
  Write("agents/two/agent.yaml", kAgent);
  const Result<Bundle> bundle = LoadBundle(root_);
  ASSERT_TRUE(bundle.ok()) << bundle.status().message();
  EXPECT_EQ(FindAgent(*bundle, "")->id, "one");
  const Result<AgentSpec> one = FindAgent(*bundle, "one");
  EXPECT_EQ(one->description, "first");
  EXPECT_EQ(one->memory.max_window, 7u);
  EXPECT_EQ(ToolsOf(*bundle, *one), (std::vector<std::string>{"Bash", "Read"}));
  EXPECT_EQ(FindAgent(*bundle, "two")->prompt, "You help.\n");
  EXPECT_EQ(FindAgent(*bundle, "three").status().message(),
            "bundle demo has no agent `three`; it has: one, two");
}

TEST_F(BundleTest, TheNewerFormIsCheckedToo) {
  Write("agents/one/agent.yaml", kAgentV1);
  Write("agents/two/agent.yaml", kAgent);
  const auto problems_with = [&](const std::string& from, const std::string& to) {
    std::string text = kBundleV1;
    text.replace(text.find(from), from.size(), to);
    Write("odyssey.bundle.yaml", text);
    return Problems();
  };
  EXPECT_EQ(problems_with(", default: true", ""),
            "odyssey.bundle.yaml:5: spec.agents: exactly one agent must be the default, not 0");
  EXPECT_EQ(problems_with("{id: two", "{id: one"),
            "odyssey.bundle.yaml:8: spec.agents[1].id: agent id is used twice: `one`");
  EXPECT_EQ(
      problems_with("default: true", "default: true, module: a.wasm"),
      "odyssey.bundle.yaml:7: spec.agents[0].module: wasm agents are not supported; remove the "
      "module");
  EXPECT_EQ(problems_with("abiVersion: v1", "abiVersion: v2"),
            "agents/one/agent.yaml:6: spec.abiVersion: must equal the bundle's `v2`, not `v1`");
  EXPECT_EQ(
      problems_with("  sandbox:", "  signatures: {cosign: abc}\n  sandbox:")
          .find("odyssey.bundle.yaml:10: spec.signatures.cosign: signatures cannot be verified"),
      0u);
}

TEST_F(BundleTest, NamesWhatIsMissing) {
  const Result<Bundle> bundle = LoadBundle(root_);
  EXPECT_EQ(bundle.status().code(), Code::kNotFound);
  EXPECT_EQ(bundle.status().message(),
            "io error at " + root_ + ": no odyssey.bundle.json5 and no odyssey.bundle.yaml in it");
  EXPECT_FALSE(LoadBundle("/no/such/directory").ok());
  EXPECT_FALSE(LoadBundle("").ok());
}

TEST_F(BundleTest, RefusesAFileThatIsTooLarge) {
  WriteManifest("");
  Write("README.md", std::string(kMaxFileBytes + 1, 'x'));
  EXPECT_EQ(Problems(),
            "odyssey.bundle.json5:5: readme: read README.md: larger than 1048576 bytes");
}

}  // namespace
}  // namespace odyssey::dialect
