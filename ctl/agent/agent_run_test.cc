#include "ctl/agent/agent_run.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>

namespace odyssey::ctl {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

AgentProfile Profile() {
  AgentProfile out;
  out.command = "some";
  out.package = "some-agent";
  out.programs = {"some-agent-x64/some", "some-agent/cli.js"};
  out.node = 20;
  out.server = "https://api.example.com";
  out.model = "m-1";
  out.key = "SOME_KEY";
  out.environment = {{"SOME_URL", "${server}/v1"}, {"SOME_QUIET", "1"}};
  out.arguments = {"--model", "${model}"};
  return out;
}

ParsedOptions Options(Words arguments) {
  arguments.insert(arguments.begin(), "some");
  Result<ParsedOptions> parsed =
      ParseOptions(AgentRunOptionSpecs(),
                   {{.name = "NAME"}, {.name = "ARG", .required = false, .rest = true}}, arguments);
  EXPECT_TRUE(parsed.ok()) << parsed.status().ToString();
  return parsed.ok() ? *parsed : ParsedOptions(AgentRunOptionSpecs());
}

const AgentProgram kNative = {.argv = {"/m/some"}, .executable = "/m/some", .trees = {"/m"}};

TEST(AgentRunTest, TheKeyStaysOutsideAndThePersonsArgumentsComeLast) {
  const Result<AgentCall> call = MakeAgentCall(Profile(), kNative, Options({"--", "-p", "hi"}));
  ASSERT_TRUE(call.ok()) << call.status().ToString();
  EXPECT_EQ(call->argv, (Words{"/usr/bin/env", "SOME_URL=https://inference.local/v1",
                               "SOME_QUIET=1", "SOME_KEY=odyssey-egress-has-the-key", "/m/some",
                               "--model", "m-1", "-p", "hi"}));
}

TEST(AgentRunTest, OptionsReplaceWhatTheProfileSays) {
  const Result<AgentCall> call =
      MakeAgentCall(Profile(), kNative, Options({"--env", "SOME_QUIET=0", "--model", "a/b:2"}));
  ASSERT_TRUE(call.ok()) << call.status().ToString();
  EXPECT_EQ(call->argv,
            (Words{"/usr/bin/env", "SOME_URL=https://inference.local/v1",
                   "SOME_KEY=odyssey-egress-has-the-key", "/m/some", "--model", "a/b:2"}));
}

TEST(AgentRunTest, WithAKeyOfTheUsersThePlaceholderIsNotOurs) {
  const Result<AgentCall> call = MakeAgentCall(Profile(), kNative, Options({"--key", "mine"}));
  ASSERT_TRUE(call.ok()) << call.status().ToString();
  EXPECT_EQ(call->argv[1], "SOME_URL=https://api.example.com/v1");
  for (const std::string& word : call->argv) EXPECT_NE(word.substr(0, 9), "SOME_KEY=");
}

TEST(AgentRunTest, ANodeOfOnesOwnIsOnTheSearchPath) {
  const AgentProgram program = {
      .argv = {"/n/bin/node", "/m/cli.js"}, .executable = "/n/bin/node", .trees = {"/m"}};
  const Result<AgentCall> call = MakeAgentCall(Profile(), program, Options({}));
  ASSERT_TRUE(call.ok()) << call.status().ToString();
  EXPECT_EQ(call->argv[4],
            "PATH=/n/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin");
}

TEST(AgentRunTest, WrongValuesNameTheOption) {
  const auto refusal = [](const Words& words) {
    return MakeAgentCall(Profile(), kNative, Options(words)).status().message();
  };
  EXPECT_EQ(refusal({"--model", "a\"b"}).substr(0, 13), "--model \"a\"b\"");
  EXPECT_EQ(refusal({"--server", "https://h"}), "--server: only with --key, which goes there");
  EXPECT_EQ(refusal({"--key", "p", "--server", "ftp://h"}).substr(0, 9), "--server ");
}

TEST(AgentRunTest, WhatWouldRunItOutsideACellIsNoOption) {
  for (const OptionSpec& spec : AgentRunOptionSpecs()) {
    EXPECT_NE(spec.name, "dangerous-sandbox-mode");
    EXPECT_NE(spec.name, "mode");
    EXPECT_NE(spec.name, "network");
  }
}

class AgentProgramTest : public ::testing::Test {
 protected:
  AgentProgramTest() {
    char name[] = "/tmp/agent-XXXXXX";
    base_ = mkdtemp(name);
  }
  ~AgentProgramTest() override { fs::remove_all(base_); }

  std::string In(const std::string& below) const { return (base_ / below).string(); }
  std::string Put(const std::string& below, const std::string& text) {
    fs::create_directories((base_ / below).parent_path());
    std::ofstream(In(below)) << text;
    fs::permissions(base_ / below, fs::perms::owner_all);
    return In(below);
  }
  Result<AgentProgram> Find(const std::string& program, const std::string& path = "",
                            const std::string& node = "") {
    return FindAgentProgram(Profile(), {program, node, path, &places_});
  }

  fs::path base_;
  NamedPlaces places_;
};

TEST_F(AgentProgramTest, ANativeProgramNextToItsLauncherIsTaken) {
  Put("lib/node_modules/some-agent/cli.js", "#!/usr/bin/env node\n");
  const std::string native =
      Put("lib/node_modules/some-agent/node_modules/some-agent-x64/some", "\177ELF");
  fs::create_directories(base_ / "bin");
  fs::create_symlink("../lib/node_modules/some-agent/cli.js", base_ / "bin/some");
  for (const auto& [program, path] :
       {std::pair(In(""), std::string()), std::pair(In("lib/node_modules"), std::string()),
        std::pair(std::string(), "relative::" + In("bin"))}) {
    const Result<AgentProgram> found = Find(program, path);
    ASSERT_TRUE(found.ok()) << found.status().ToString();
    EXPECT_EQ(found->argv, Words{native});
    EXPECT_EQ(found->trees, Words{In("lib/node_modules")});
  }
}

TEST_F(AgentProgramTest, AScriptHasItsNode) {
  const std::string script = Put("node_modules/some-agent/cli.js", "#!/usr/bin/env node\n");
  const std::string node = Put("bin/node", "\177ELF");
  const Result<AgentProgram> found = Find(In(""), In("bin"));
  ASSERT_TRUE(found.ok()) << found.status().ToString();
  EXPECT_EQ(found->argv, (Words{node, script}));
  EXPECT_EQ(found->executable, node);
  EXPECT_EQ(found->trees, (Words{In("node_modules"), node}));

  EXPECT_EQ(Find(In(""), "").status().message().substr(0, 23), "node: not in $PATH; --n");
}

// A cell may have written it: only the system's Node is asked for its version.
TEST_F(AgentProgramTest, NothingOfAWorkspaceIsExecutedHere) {
  Put("node_modules/some-agent/cli.js", "#!/usr/bin/env node\n");
  const std::string script = "#!/bin/sh\ntouch " + In("executed") + "\n";
  for (const char* name : {"node", "npm"}) Put(std::string("bin/") + name, script);
  EXPECT_TRUE(Find(In(""), In("bin")).ok());
  EXPECT_TRUE(Find(In(""), "", In("bin/node")).ok());
  EXPECT_FALSE(Find("", In("bin")).ok());
  EXPECT_FALSE(fs::exists(In("executed")));
}

TEST_F(AgentProgramTest, TheSystemsNodeMayBeTooOld) {
  Put("node_modules/some-agent/cli.js", "#!/usr/bin/env node\n");
  AgentProfile profile = Profile();
  profile.node = 999;
  const Status status = FindAgentProgram(profile, {In(""), "", "/usr/bin", &places_}).status();
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_NE(status.message().find("Node 999 or newer"), std::string::npos) << status.message();
}

TEST_F(AgentProgramTest, WhatIsNotInstalledSaysWhatToInstall) {
  const Status status = Find("", In("bin")).status();
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_NE(status.message().find("npm install -g some-agent"), std::string::npos);
  fs::create_directories(base_ / "node_modules");
  EXPECT_EQ(Find(In("node_modules")).status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace odyssey::ctl
