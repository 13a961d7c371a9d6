#include "ctl/agent/agent_profile.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace odyssey::ctl {
namespace {

constexpr char kWhole[] =
    "agent_version: odyssey.agent/v1\n"
    "summary: Some agent\n"
    "command: some\n"
    "package: some-agent\n"
    "programs: [some-agent/cli.js]\n"
    "node: 20\n"
    "models: {api: openai-chat, server: https://api.example.com, model: m-1, key: SOME_KEY}\n"
    "environment: {SOME_URL: '${server}/v1'}\n"
    "arguments: [--model, '${model}']\n"
    "files: {.some/conf.json: '{\"key\": \"${key}\"}'}\n"
    "first_files: {.some/state.json: '{}'}\n"
    "policy:\n"
    "  policy_version: odyssey.policy/v1\n"
    "  sandbox:\n"
    "    permissions:\n"
    "      network_policies:\n"
    "        models:\n"
    "          endpoints: [{host: '${host}', port: 443}]\n"
    "          binaries: [{path: '${program}', ancestors: false}]\n"
    "    resources: {memory_mb: 100}\n";

const ProfileValues kValues = {{"host", "inference.local"},
                               {"path", ""},
                               {"key", "SOME_KEY"},
                               {"model", "m-2"},
                               {"node", "/n/node"},
                               {"program", "/n/node"},
                               {"server", "https://inference.local"}};

std::string Without(std::string text, const std::string& line_of) {
  const size_t begin = text.find(line_of);
  return text.erase(begin, text.find('\n', begin) + 1 - begin);
}

std::string With(std::string text, const std::string& what, const std::string& other) {
  return text.replace(text.find(what), what.size(), other);
}

// Of the text as "a.yaml", one a line.
std::string Problems(const std::string& text) {
  dialect::Problems problems;
  std::string out;
  if (ReadProfile(text, "a.yaml", &problems)) return "none";
  for (const dialect::Problem& problem : problems) out += dialect::ToString(problem) + "\n";
  return out;
}

AgentProfile Filled(const std::string& text) {
  dialect::Problems problems;
  const std::optional<AgentProfile> profile = ReadProfile(text, "a.yaml", &problems);
  if (!profile) ADD_FAILURE() << dialect::ToStatus(problems).ToString();
  return profile ? FillProfile(*profile, kValues) : AgentProfile{};
}

TEST(AgentProfileTest, VariablesAreReplacedEverywhere) {
  const AgentProfile profile = Filled(kWhole);
  EXPECT_EQ(profile.environment.front(),
            (std::pair<std::string, std::string>("SOME_URL", "https://inference.local/v1")));
  EXPECT_EQ(profile.arguments, (std::vector<std::string>{"--model", "m-2"}));
  EXPECT_EQ(profile.files.front(), (HomeFile{".some/conf.json", "{\"key\": \"SOME_KEY\"}", false}));
  EXPECT_EQ(profile.files.back(), (HomeFile{".some/state.json", "{}", true}));

  dialect::Problems problems;
  const std::optional<dialect::Policy> policy = ReadProfilePolicy(profile, {}, &problems);
  ASSERT_TRUE(policy) << dialect::ToStatus(problems).ToString();
  EXPECT_EQ(policy->request.network, policy::Network::kEgress);
  const egress::Rule& rule = policy->request.egress.rules.front();
  EXPECT_EQ(rule.endpoints.front().host, "inference.local");
  EXPECT_EQ(rule.binaries.front().path, "/n/node");
  EXPECT_TRUE(rule.binaries.front().only_itself);
}

TEST(AgentProfileTest, WhatIsWrongHasItsLine) {
  EXPECT_NE(
      Problems(std::string(kWhole) + "colour: red\n").find("a.yaml:21: colour: unknown field"),
      std::string::npos);
  EXPECT_NE(Problems(std::string(kWhole) + "command: twice\n").find("a.yaml:21"),
            std::string::npos);
  EXPECT_NE(Problems(With(kWhole, "model: m-1", "model: m-1, temperature: 1"))
                .find("a.yaml:7: models.temperature: unknown field"),
            std::string::npos);
  EXPECT_NE(Problems(With(kWhole, "openai-chat", "telepathy")).find("a.yaml:7: models.api"),
            std::string::npos);
  EXPECT_NE(Problems(With(kWhole, "https://api", "http://api")).find("a.yaml:7: models.server"),
            std::string::npos);
  EXPECT_NE(Problems(With(kWhole, "${server}", "${home}")).find("a.yaml:8: environment.SOME_URL"),
            std::string::npos);
  EXPECT_NE(Problems(With(kWhole, "${program}", "${programme}")).find("a.yaml:19: policy"),
            std::string::npos);
  EXPECT_NE(Problems(With(kWhole, "${model}", "${model")).find("a.yaml:9: arguments[1]"),
            std::string::npos);
  for (const char* path : {"../.some/conf.json", "/.some/conf.json", ".some//conf.json"}) {
    EXPECT_NE(Problems(With(kWhole, ".some/conf.json", path)).find("a.yaml:10: files"),
              std::string::npos)
        << path;
  }
  for (const char* key : {"agent_version", "summary", "command", "package", "models"}) {
    EXPECT_NE(Problems(Without(kWhole, key)).find("missing field `" + std::string(key)),
              std::string::npos);
  }
}

TEST(AgentProfileTest, AProblemOfThePolicyHasItsLine) {
  const AgentProfile profile = Filled(With(kWhole, "memory_mb: 100", "memory_mb: 1"));
  dialect::Problems problems;
  EXPECT_FALSE(ReadProfilePolicy(profile, {}, &problems));
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_EQ(problems.front().line, 20);
  EXPECT_EQ(problems.front().key, "policy.sandbox.resources.memory_mb");
}

TEST(AgentProfileTest, AServerIsAHostAndAPath) {
  EXPECT_EQ(ParseServer("https://h.example")->host, "h.example");
  EXPECT_EQ(ParseServer("https://h.example/a/b")->path, "/a/b");
  for (const char* url : {"", "https://", "http://h", "https://h/", "https:///x", "https://h:8443",
                          "https://u@h", "https://h/?q", "https://h\n"}) {
    EXPECT_FALSE(ParseServer(url).ok()) << url;
  }
}

// Each installed profile's policy lets the agent's executable, and no other program, connect to a
// model's server, and to no other place.
TEST(AgentProfileTest, TheReadyOnesAskForNothingButModels) {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(ODYSSEY_AGENT_PROFILES)) {
    std::ifstream in(entry.path());
    const AgentProfile profile = Filled({std::istreambuf_iterator<char>(in), {}});
    dialect::Problems problems;
    const std::optional<dialect::Policy> policy = ReadProfilePolicy(profile, {}, &problems);
    ASSERT_TRUE(policy) << dialect::ToStatus(problems).ToString();
    ASSERT_EQ(policy->request.egress.rules.size(), 1u) << entry.path();
    const egress::Rule& rule = policy->request.egress.rules.front();
    ASSERT_EQ(rule.endpoints.size(), 1u);
    EXPECT_EQ(rule.endpoints.front().host, "inference.local");
    ASSERT_EQ(rule.binaries.size(), 1u);
    EXPECT_EQ(rule.binaries.front().path, kValues.at("program"));
    EXPECT_TRUE(rule.binaries.front().only_itself);
    EXPECT_TRUE(policy->request.mounts.empty());
    EXPECT_TRUE(policy->request.env.empty());
    ++count;
  }
  EXPECT_EQ(count, 5u);
}

}  // namespace
}  // namespace odyssey::ctl
