#include "ctl/policy/project_approval.h"

#include <gtest/gtest.h>

#include "tests/fakes/fake_policy_host.h"

namespace odyssey::ctl {
namespace {

using fakes::FakePolicyHost;
using Lines = std::vector<std::string>;

constexpr uid_t kAlice = 4242, kBob = 4243;

FakePolicyHost Host(const std::string& user = "{}") {
  FakePolicyHost host;
  host.files["/home/u/.odek/config.json"] = user;
  host.environment = {{"LANG", "C"}};
  return host;
}

std::optional<ProjectAsk> Ask(const std::string& text, const FakePolicyHost& host = Host(),
                              uid_t user = kAlice, const std::string& path = "odek.json") {
  const fakes::PolicyReading reading = fakes::ReadPolicyOn(host, text, path);
  EXPECT_EQ(reading.problems, "");
  const auto ask = AskOf(*reading.policy, user);
  EXPECT_TRUE(ask.ok()) << ask.status().ToString();
  return *ask;
}

Lines Added(const std::string& text, const FakePolicyHost& host = Host()) {
  const auto ask = Ask(text, host);
  return ask ? ask->added : Lines();
}

TEST(ProjectApprovalTest, AProjectMayTakeAwayWithoutAsking) {
  const FakePolicyHost host = Host(
      R"({"sandbox_network": "bridge", "sandbox_memory": "4g", "sandbox_env": {"A": "x", "B": "y"}})");
  EXPECT_EQ(Added("{}", host), Lines());
  EXPECT_EQ(Added(R"({"sandbox_readonly": true, "sandbox_network": "none", "sandbox_memory": "1g",
                      "sandbox_env": {"A": "x"}})",
                  host),
            Lines());
  // What it may not turn off is no more than the user's own.
  EXPECT_EQ(Added("{\"sandbox\": false, \"sandbox_readonly\": false}",
                  Host("{\"sandbox_readonly\": true}")),
            Lines());
}

// The project has written a Dockerfile even where the user wrote the policy; what goes into it is
// part of the approval.
TEST(ProjectApprovalTest, WhatIsBuiltIsToBeApproved) {
  const auto ask = [](const std::string& digest, const std::string& text = "{}",
                      const std::string& path = "odek.json") {
    const fakes::PolicyReading reading = fakes::ReadPolicyOn(Host(), text, path);
    const ProjectBuild build = {"/home/u/project", "Dockerfile.odek: of base", digest};
    return **AskOf(*reading.policy, kAlice, &build);
  };
  const ProjectAsk first = ask("1");
  EXPECT_EQ(first.added, Lines{"Dockerfile.odek: of base"});
  EXPECT_EQ(first.directory, "/home/u/project");
  EXPECT_EQ(ask("1").fingerprint, first.fingerprint);
  EXPECT_NE(ask("2").fingerprint, first.fingerprint);
  EXPECT_NE(ask("1", "{\"sandbox_network\": \"bridge\"}").fingerprint, first.fingerprint);
  EXPECT_EQ(ask("1", "{\"sandbox_network\": \"bridge\"}").added.size(), 2u);
  EXPECT_EQ(ask("1", "{}", "/home/u/.odek/config.json").added, Lines{"Dockerfile.odek: of base"});
}

TEST(ProjectApprovalTest, WhatItAddsIsToBeApproved) {
  EXPECT_EQ(Added("{\n\"sandbox_network\": \"bridge\"}"),
            Lines{"odek.json:2: sandbox_network: bridge: network: egress, where none is the most"});
  EXPECT_EQ(Added("{\n\"sandbox_env\": {\n\"A\": \"${LANG}\"}}"),
            Lines{"odek.json:3: sandbox_env.A: ${LANG}: env: A"});
  // What is no reference may be a secret.
  EXPECT_EQ(Added("{\"sandbox_env\": {\"A\": \"hunter2\"}}"),
            Lines{"odek.json:1: sandbox_env.A: A"});
  EXPECT_EQ(Added("{\"sandbox_memory\": \"64g\"}").size(), 1u);
  EXPECT_EQ(Added("{\"sandbox_image\": \"x:1\"}"),
            Lines{"odek.json:1: sandbox_image: x:1: another image than your own"});
  EXPECT_EQ(Added("{\"sandbox_image\": \"x:1\"}", Host("{\"sandbox_image\": \"x:1\"}")), Lines());
  EXPECT_EQ(Added("{\"sandbox_env\": {\"A\": \"z\"}}", Host("{\"sandbox_env\": {\"A\": \"x\"}}")),
            Lines{"odek.json:1: sandbox_env.A: A: another value than your own"});
  EXPECT_EQ(
      Added("{\"sandbox_volumes\": [\"data:/data:rw\"]}", Host("{\"sandbox_readonly\": true}"))
          .size(),
      1u);
}

TEST(ProjectApprovalTest, TheEnvironmentIsTheUsersOwnWord) {
  FakePolicyHost host = Host();
  host.environment["ODEK_SANDBOX_NETWORK"] = "bridge";
  EXPECT_EQ(Added("{\"sandbox_network\": \"bridge\"}", host), Lines());
}

TEST(ProjectApprovalTest, TheUsersOwnFileAsksNobody) {
  const FakePolicyHost host = Host("{\"sandbox_network\": \"bridge\"}");
  EXPECT_FALSE(
      Ask(host.files.at("/home/u/.odek/config.json"), host, kAlice, "/home/u/.odek/config.json"));
  EXPECT_FALSE(Ask("policy_version: odyssey.policy/v1\nsandbox: {permissions: {network: ['*']}}\n",
                   host, kAlice, "p.yaml"));
}

TEST(ProjectApprovalTest, AnythingElseHasAnotherFingerprint) {
  const std::string text = R"({"sandbox_network": "bridge", "sandbox_env": {"A": "${LANG}"}})";
  const std::string approved = Ask(text)->fingerprint;
  EXPECT_EQ(approved.size(), 64u);
  EXPECT_EQ(Ask(text)->fingerprint, approved);
  EXPECT_NE(Ask(text + " ")->fingerprint, approved);
  EXPECT_NE(Ask(text, Host(), kBob)->fingerprint, approved);
  FakePolicyHost elsewhere = Host();
  elsewhere.cwd = "/home/u/other";
  EXPECT_NE(Ask(text, elsewhere)->fingerprint, approved);
  // The whole of the policy counts, whoever said the rest.
  EXPECT_NE(Ask(text, Host("{\"sandbox_memory\": \"2g\"}"))->fingerprint, approved);
  FakePolicyHost environment = Host();
  environment.environment["ODEK_SANDBOX_READONLY"] = "true";
  EXPECT_NE(Ask(text, environment)->fingerprint, approved);
  // A variable of the user's own may have another value tomorrow.
  FakePolicyHost later = Host();
  later.environment["LANG"] = "de_DE";
  EXPECT_EQ(Ask(text, later)->fingerprint, approved);
}

TEST(ProjectApprovalTest, OnlyYesIsYes) {
  for (const char* line : {"", "n", "N", "no", "yes", "trust", "y ", "yy", "true", "1", "always"}) {
    EXPECT_EQ(ParseProjectAnswer(line), ProjectAnswer::kNo) << line;
  }
  for (const char* line : {"y", "Y"}) EXPECT_EQ(ParseProjectAnswer(line), ProjectAnswer::kOnce);
  for (const char* line : {"t", "T"}) EXPECT_EQ(ParseProjectAnswer(line), ProjectAnswer::kAlways);
  EXPECT_TRUE(IsApprovedByEnvironment("1"));
  for (const char* value : {"", "0", "true", "yes", "11"}) {
    EXPECT_FALSE(IsApprovedByEnvironment(value)) << value;
  }
  EXPECT_FALSE(IsApprovedByEnvironment(std::nullopt));
}

}  // namespace
}  // namespace odyssey::ctl
