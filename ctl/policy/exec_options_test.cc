#include "ctl/policy/exec_options.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/testing/refusal.h"

namespace odyssey::ctl {
namespace {

Result<FoundPlace> Resolve(const std::string& path) {
  if (path == "missing" || path == "./missing") {
    return NotFound("resolve " + path + ": No such file or directory");
  }
  FoundPlace place{.name = "/real/" + path, .identity = {7, path.size()}};
  if (path == "link") place.followed = "/link";
  return place;
}

ExecInputs Inputs() {
  return {.resolve = Resolve,
          .environment = [](const std::string& name) -> std::optional<std::string> {
            if (name == "TERM") return "vt100";
            if (name == "TZ") return "Asia/Tokyo";
            if (name == "PATH") return "/here";
            return std::nullopt;
          }};
}

Result<ExecOptions> Read(std::vector<std::string> arguments) {
  const Result<ParsedOptions> parsed = ParseOptions(
      ExecOptionSpecs(), {{.name = "CMD", .required = false, .rest = true}}, arguments);
  if (!parsed.ok()) return parsed.status();
  return ReadExecOptions(*parsed, Inputs());
}

TEST(ExecOptionsTest, DefaultIsAPrivateWritableWorkspaceWithoutNetwork) {
  const Result<ExecOptions> options = Read({"--", "ls", "-l"});
  ASSERT_TRUE(options.ok()) << options.status().ToString();
  EXPECT_EQ(options->sandbox.mode, policy::Mode::kWorkspaceWrite);
  EXPECT_EQ(options->sandbox.network, policy::Network::kNone);
  EXPECT_EQ(options->sandbox.executables_mode, policy::ExecutablesMode::kWorkspace);
  EXPECT_EQ(options->sandbox.workspace, "");
  EXPECT_TRUE(options->sandbox.ephemeral);
  EXPECT_EQ(options->argv, (std::vector<std::string>{"ls", "-l"}));
}

TEST(ExecOptionsTest, AProgramOfTheVerbsOwnIsShownReadOnlyAndExecutable) {
  ExecInputs inputs = Inputs();
  inputs.base = ExecBase{.policy = {}, .file = "base.yaml", .programs = {"w/modules", "node"}};
  inputs.base->policy.request.limits.pids = 77;
  const Result<ParsedOptions> parsed =
      ParseOptions(ExecOptionSpecs(), {}, {"--workspace", "w", "--read", "docs"});
  const Result<ExecOptions> options = ReadExecOptions(*parsed, inputs);
  ASSERT_TRUE(options.ok()) << options.status().ToString();
  EXPECT_EQ(options->sandbox.limits.pids, 77u);
  EXPECT_TRUE(options->default_executables);
  const std::vector<policy::Mount>& mounts = options->sandbox.mounts;
  ASSERT_EQ(mounts.size(), 4u);
  const std::string targets[] = {"/real/w/modules", "/workspace/modules", "/real/node",
                                 "/real/docs"};
  for (size_t i = 0; i < mounts.size(); ++i) {
    EXPECT_EQ(mounts[i].target, targets[i]);
    EXPECT_EQ(mounts[i].access, policy::Access::kReadOnly);
    EXPECT_EQ(mounts[i].executable, i < 3) << targets[i];
  }
  EXPECT_EQ(mounts[1].source, "/real/w/modules");
}

TEST(ExecOptionsTest, ALimitThatIsTypedIsAskedForWhateverItsValue) {
  ExecInputs inputs = Inputs();
  inputs.base = ExecBase{};
  inputs.base->policy.request.limits = {.cpu_millis = 1000, .pids = 77};
  inputs.base->policy.request.unsaid_limits = inputs.base->policy.request.limits;
  const Result<ParsedOptions> parsed = ParseOptions(ExecOptionSpecs(), {}, {"--pids", "77"});
  const Result<ExecOptions> options = ReadExecOptions(*parsed, inputs);
  ASSERT_TRUE(options.ok()) << options.status().ToString();
  EXPECT_EQ(options->sandbox.unsaid_limits, (policy::Limits{.cpu_millis = 1000}));
}

TEST(ExecOptionsTest, ToolsSaysOtherwise) {
  using policy::ExecutablesMode;
  const std::pair<const char*, ExecutablesMode> modes[] = {
      {"explicit", ExecutablesMode::kExplicit},
      {"standard", ExecutablesMode::kStandard},
      {"workspace", ExecutablesMode::kWorkspace},
      {"all", ExecutablesMode::kAll}};
  for (const auto& [name, mode] : modes) {
    EXPECT_EQ(Read({"--tools", name, "--", "x"})->sandbox.executables_mode, mode) << name;
  }
  EXPECT_TRUE(Read({"--", "x"})->default_executables);
  EXPECT_FALSE(Read({"--tools", "workspace", "--", "x"})->default_executables);
}

TEST(ExecOptionsTest, ReviewPutsEveryHostDirectoryBehindACommit) {
  const Result<ExecOptions> options =
      Read({"--review", "--workspace", "w", "--read", "a", "--write", "b", "--", "true"});
  ASSERT_TRUE(options.ok()) << options.status().ToString();
  EXPECT_TRUE(options->reviewed);
  EXPECT_FALSE(options->sandbox.ephemeral) << "the changes outlive the command";
  EXPECT_EQ(options->sandbox.workspace_writes, policy::Writes::kReview);
  const policy::Mount a = {.source = "/real/a", .target = "/real/a", .identity = {7, 1}};
  const policy::Mount b = {.source = "/real/b",
                           .target = "/real/b",
                           .access = policy::Access::kReview,
                           .identity = {7, 1}};
  EXPECT_EQ(options->sandbox.mounts, (std::vector<policy::Mount>{a, b}));
  EXPECT_FALSE(Read({"--workspace", "w", "--", "true"})->reviewed);
}

// "--read W/ro" is read-only as /workspace/ro too.
TEST(ExecOptionsTest, WhatLiesInTheWorkspaceHasItsAccessThere) {
  const auto options = Read({"--workspace", "w", "--read", "w/ro", "--write", "w-2", "--", "x"});
  ASSERT_TRUE(options.ok()) << options.status().ToString();
  const auto& mounts = options->sandbox.mounts;
  ASSERT_EQ(mounts.size(), 3u);
  EXPECT_EQ(mounts[0].target, "/real/w/ro");
  EXPECT_EQ(mounts[1].target, "/workspace/ro");
  EXPECT_EQ(mounts[1].source, "/real/w/ro");
  EXPECT_TRUE(mounts[1].executable) << "as the rest of the workspace";
  EXPECT_EQ(mounts[2].target, "/real/w-2");
  const auto reviewed = Read({"--review", "--workspace", "w", "--write", "w/out", "--", "x"});
  ASSERT_EQ(reviewed->sandbox.mounts.size(), 1u) << "one copy, at one place";
  EXPECT_EQ(reviewed->sandbox.mounts[0].target, "/workspace/out");
}

TEST(ExecOptionsTest, ReviewIsRefusedWhereNothingWouldBeReviewed) {
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"--review", "--", "true"},
        {"--review", "--mode", "read_only", "--workspace", "w", "--", "true"},
        {"--review", "--mode", "danger_full_access", "--workspace", "w", "--", "true"}}) {
    const Status refused = Read(words).status();
    EXPECT_EQ(refused.code(), Code::kInvalidArgument) << refused.ToString();
    EXPECT_NE(refused.message().find("--review: "), std::string::npos) << refused.message();
  }
}

TEST(ExecOptionsTest, EveryOptionReachesTheRequest) {
  const Result<ExecOptions> options =
      Read({"--mode",  "read_only", "--workspace", "w",           "--read",    "a",
            "--write", "b",         "--tools",     "all",         "--network", "full",
            "--env",   "K=v=w",     "--landlock",  "best_effort", "--memory",  "512m",
            "--cpus",  "1.5",       "--pids",      "9",           "--timeout", "60s",
            "--cell",  "n-1.x",     "--cwd",       "/tmp",        "--explain", "true"});
  ASSERT_TRUE(options.ok()) << options.status().ToString();
  const policy::SandboxRequest& sandbox = options->sandbox;
  EXPECT_EQ(sandbox.mode, policy::Mode::kReadOnly);
  EXPECT_EQ(sandbox.workspace, "/real/w");
  EXPECT_EQ(sandbox.workspace_identity, (policy::FileIdentity{7, 1}));
  const policy::Mount a = {.source = "/real/a", .target = "/real/a", .identity = {7, 1}};
  policy::Mount b = a;
  b.source = b.target = "/real/b";
  b.access = policy::Access::kReadWrite;
  EXPECT_EQ(sandbox.mounts, (std::vector<policy::Mount>{a, b}));
  EXPECT_TRUE(options->notes.empty());
  EXPECT_EQ(sandbox.executables_mode, policy::ExecutablesMode::kAll);
  EXPECT_EQ(sandbox.network, policy::Network::kFull);
  EXPECT_EQ(sandbox.landlock, policy::Landlock::kBestEffort);
  EXPECT_EQ(sandbox.env.at("K"), "v=w");
  EXPECT_EQ(sandbox.limits.memory_bytes, 512u << 20);
  EXPECT_EQ(sandbox.limits.cpu_millis, 1500u);
  EXPECT_EQ(sandbox.limits.pids, 9u);
  EXPECT_FALSE(sandbox.ephemeral);
  EXPECT_EQ(options->cell, "n-1.x");
  EXPECT_EQ(options->timeout_ms, 60'000u);
  EXPECT_EQ(options->cwd, "/tmp");
  EXPECT_TRUE(options->explain);
}

TEST(ExecOptionsTest, TheSizeOfAFileIsALimit) {
  const Result<ExecOptions> options = Read({"--file-size", "1g", "true"});
  ASSERT_TRUE(options.ok()) << options.status().ToString();
  EXPECT_EQ(options->sandbox.limits, (policy::Limits{.file_bytes = uint64_t{1} << 30}));
  EXPECT_EQ(
      options->origins.Locate(testing::RefusalOf("limits.file_bytes: 1073741824: no")).message(),
      "--file-size: 1g: limits.file_bytes: 1073741824: no");
}

TEST(ExecOptionsTest, ALinkThatIsFollowedIsTold) {
  EXPECT_EQ(Read({"--read", "link", "--workspace", "w", "true"})->notes,
            std::vector<std::string>{"--read link: /link is a symbolic link: /real/link is used"});
}

// As it was typed, and in the supervisor's words.
TEST(ExecOptionsTest, WhatIsRefusedLaterIsTheOptions) {
  const Result<ExecOptions> options =
      Read({"--memory", "1k", "--pids", "9", "--timeout", "2h", "--read", "a", "--write", "b",
            "--env", "K=secret", "--tools", "explicit", "--tool", "git", "true"});
  ASSERT_TRUE(options.ok()) << options.status().ToString();
  const dialect::Origins& origins = options->origins;
  EXPECT_EQ(
      origins.Locate(testing::RefusalOf("limits.memory_bytes: 1024: at least 16777216 is allowed"))
          .message(),
      "--memory: 1k: limits.memory_bytes: 1024: at least 16777216 is allowed");
  EXPECT_EQ(origins.Locate(testing::RefusalOf("limits.pids: 9: at most 8")).message(),
            "--pids: limits.pids: 9: at most 8");
  EXPECT_EQ(origins.Locate(testing::RefusalOf("start.wall_clock_ms: 7200000: at most 5")).message(),
            "--timeout: 2h: start.wall_clock_ms: 7200000: at most 5");
  EXPECT_EQ(origins.Locate(testing::RefusalOf("mounts[0].source /real/a: no")).message(),
            "--read: a: /real/a: no");
  EXPECT_EQ(origins.Locate(testing::RefusalOf("mounts[1].source /b: no")).message(),
            "--write: b: /b: no");
  EXPECT_EQ(origins.Locate(testing::RefusalOf("env: K: no")).message(), "--env: env: K: no");
  EXPECT_EQ(origins.Locate(testing::RefusalOf("executables: git: no")).message(),
            "--tool: executables: git: no");
  EXPECT_EQ(origins.Locate(testing::RefusalOf("limits.cpu_millis: 1: no")).message(),
            "limits.cpu_millis: 1: no");
}

TEST(ExecOptionsTest, WhatIsRefusedOfAnImageHasTheOptionsNameAlone) {
  const Result<ExecOptions> options = Read({"--image", "a:1", "--image-user", "me", "true"});
  ASSERT_TRUE(options.ok()) << options.status().ToString();
  EXPECT_EQ(options->origins.Locate(testing::RefusalOf("image.reference: a:1: no")).message(),
            "--image: a:1: no");
  EXPECT_EQ(options->origins.Locate(testing::RefusalOf("image.user: me: no")).message(),
            "--image-user: me: no");
}

TEST(ExecOptionsTest, AProgramOfAnImageIsNotLookedForOnTheHost) {
  const Result<ExecOptions> options =
      Read({"--image", "a:1", "--tools", "explicit", "--tool", "/opt/only/in-the-image", "true"});
  ASSERT_TRUE(options.ok()) << options.status().ToString();
  EXPECT_EQ(options->sandbox.executables, std::vector<std::string>{"/opt/only/in-the-image"});
  const Result<ExecOptions> host = Read({"--tools", "explicit", "--tool", "/opt/of-host", "true"});
  EXPECT_EQ(host->sandbox.executables, std::vector<std::string>{"/real//opt/of-host"});
}

TEST(ExecOptionsTest, ANameOfAnImageThatNoneCanHaveIsShownInPart) {
  EXPECT_TRUE(Read({"--image", std::string(456, 'a'), "true"}).ok());
  EXPECT_EQ(Read({"--image", std::string(457, 'a'), "true"}).status().message(),
            "--image \"" + std::string(40, 'a') + "…\": 457 bytes; at most 456 are allowed");
}

TEST(ExecOptionsTest, MissingImagesArePulledUnlessItSaysNever) {
  EXPECT_EQ(Read({"true"})->pull, PullWhen::kMissing);
  EXPECT_EQ(Read({"--pull", "missing", "true"})->pull, PullWhen::kMissing);
  EXPECT_EQ(Read({"--pull", "never", "true"})->pull, PullWhen::kNever);
  EXPECT_FALSE(Read({"--pull", "always", "true"}).ok());
}

TEST(ExecOptionsTest, ToolsAreNamedInExplicitModeOnly) {
  const Result<ExecOptions> options =
      Read({"--tools", "explicit", "--tool", "git", "--tool", "bin/tool", "true"});
  ASSERT_TRUE(options.ok()) << options.status().ToString();
  EXPECT_EQ(options->sandbox.executables_mode, policy::ExecutablesMode::kExplicit);
  EXPECT_EQ(options->sandbox.executables, (std::vector<std::string>{"git", "/real/bin/tool"}));
  EXPECT_EQ(Read({"--tool", "git", "true"}).status().message(),
            "--tool git: allowed only with --tools explicit");
  EXPECT_EQ(Read({"--tools", "explicit", "--tool", "./missing", "true"}).status().message(),
            "--tool: resolve ./missing: No such file or directory");
}

TEST(ExecOptionsTest, InheritsLanguageTimeAndTerminal) {
  using Environment = std::map<std::string, std::string>;
  EXPECT_EQ(Read({"sh"})->sandbox.env, (Environment{{"TERM", "vt100"}, {"TZ", "Asia/Tokyo"}}));
  EXPECT_EQ(Read({"--env", "TERM=dumb", "sh"})->sandbox.env,
            (Environment{{"TERM", "dumb"}, {"TZ", "Asia/Tokyo"}}));
}

TEST(ExecOptionsTest, ErrorsNameTheOption) {
  EXPECT_EQ(Read({"--read", "missing", "ls"}).status().message(),
            "--read: resolve missing: No such file or directory");
  EXPECT_EQ(Read({"--workspace", "missing", "ls"}).status().message(),
            "--workspace: resolve missing: No such file or directory");
  EXPECT_EQ(Read({"--env", "ABSENT", "ls"}).status().message(),
            "--env \"ABSENT\": there is no such variable here; give it a value: ABSENT=VALUE");
  EXPECT_EQ(Read({"--cell", "a/b", "ls"}).status().message(),
            "--cell \"a/b\": expected 1 to 128 letters, digits, dots, dashes and underscores");
  EXPECT_EQ(Read({"--mode", "danger", "ls"}).status().message(),
            "--mode \"danger\": expected read_only, workspace_write or danger_full_access");
  EXPECT_EQ(Read({"--dangerous-sandbox-mode", "ls"}).status().message(),
            "--dangerous-sandbox-mode: only with --mode danger_full_access");
}

}  // namespace
}  // namespace odyssey::ctl
