#include "policy/compile/danger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "policy/model/default_limits.h"

namespace odyssey::compile {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const HostUser kAlice = {.uid = 1000, .name = "alice", .home = "/home/alice"};

policy::SandboxRequest Danger() {
  policy::SandboxRequest request;
  request.mode = policy::Mode::kDangerFullAccess;
  request.network = policy::Network::kFull;
  return request;
}

void ExpectRefused(const policy::SandboxRequest& request, const HostUser& user,
                   const std::string& phrase) {
  const auto compiled = CompileDanger(request, user, {});
  ASSERT_FALSE(compiled.ok()) << phrase;
  EXPECT_THAT(compiled.status().message(), HasSubstr(phrase));
}

TEST(CompileDangerTest, HasNoEntriesNoConfinementAndItsLimits) {
  policy::SandboxRequest request = Danger();
  request.limits.pids = 40;
  const auto compiled = CompileDanger(request, kAlice, {});
  ASSERT_TRUE(compiled.ok()) << compiled.status().ToString();
  EXPECT_TRUE(compiled->unconfined);
  EXPECT_TRUE(compiled->plan.entries.empty());
  EXPECT_TRUE(compiled->confinement.rules.empty());
  EXPECT_EQ(compiled->plan.pids, 40u);
  EXPECT_EQ(compiled->plan.memory_bytes, policy::kDefaultLimits.memory_bytes);
  EXPECT_EQ(compiled->workspace, "/home/alice");
}

TEST(CompileDangerTest, SaysInCapitalsThatNothingConfinesIt) {
  const auto compiled = CompileDanger(Danger(), kAlice, {});
  ASSERT_TRUE(compiled.ok());
  EXPECT_THAT(compiled->explanation[0],
              StartsWith("MODE DANGER_FULL_ACCESS: NOTHING CONFINES THIS"));
  EXPECT_THAT(compiled->explanation[0], HasSubstr("alice (uid 1000)"));
  EXPECT_THAT(compiled->explanation[1], StartsWith("UNCONFINED: "));
}

TEST(CompileDangerTest, TheEnvironmentIsTheUsersAndClaimsNoSandbox) {
  const auto compiled = CompileDanger(Danger(), kAlice, {});
  ASSERT_TRUE(compiled.ok());
  EXPECT_THAT(compiled->base_env, Contains("HOME=/home/alice"));
  EXPECT_THAT(compiled->base_env, Contains("USER=alice"));
  EXPECT_THAT(compiled->base_env, Not(Contains(StartsWith("ODYSSEY_SANDBOX"))));
}

TEST(CompileDangerTest, RefusesEveryNetworkButTheHosts) {
  for (const auto network : {policy::Network::kNone, policy::Network::kEgress}) {
    policy::SandboxRequest request = Danger();
    request.network = network;
    ExpectRefused(request, kAlice,
                  "bundle disables network but host execution cannot enforce that policy");
  }
}

TEST(CompileDangerTest, RefusesWhateverItCouldNotHold) {
  policy::SandboxRequest request = Danger();
  request.mounts = {{"/srv/data", "/workspace/data"}};
  ExpectRefused(request, kAlice, "mounts: /srv/data: host execution cannot enforce that");
  request = Danger();
  request.executables_mode = policy::ExecutablesMode::kExplicit;
  request.executables = {"git"};
  ExpectRefused(request, kAlice, "executables: git: ");
  request = Danger();
  request.protect = {".git"};
  ExpectRefused(request, kAlice, "protect: .git: ");
  request = Danger();
  request.deny = {"**/.env"};
  ExpectRefused(request, kAlice, "deny: **/.env: ");
  request = Danger();
  request.user = 2000;
  ExpectRefused(request, kAlice, "user: 2000: ");
  request = Danger();
  request.image.reference = "debian:12";
  ExpectRefused(request, kAlice, "image: debian:12: ");
}

TEST(CompileDangerTest, UidZeroNeverRunsACommandNorDoesAStranger) {
  ExpectRefused(Danger(), {.uid = 0, .name = "root", .home = "/root"},
                "Host uid 0 never runs a command, whatever the flags");
  ExpectRefused(Danger(), {.uid = 4242}, "owner_uid: 4242: this host has no such user");
}

TEST(CompileDangerTest, NeedsADirectoryToStartIn) {
  policy::SandboxRequest request = Danger();
  request.workspace = "/srv/work";
  EXPECT_EQ(CompileDanger(request, kAlice, {})->workspace, "/srv/work");
  for (const char* bad : {"/", "srv", "/srv/../etc", "/srv/"}) {
    request.workspace = bad;
    ExpectRefused(request, kAlice, "workspace: ");
  }
  ExpectRefused(Danger(), {.uid = 1, .name = "daemon", .home = "/"}, "the user's home");
}

TEST(CompileDangerTest, TheDigestKnowsTheUserAndTheDirectoryAndNoValues) {
  policy::SandboxRequest request = Danger();
  request.env = {{"KEY", "one"}};
  const std::string digest = CompileDanger(request, kAlice, {})->digest;
  request.env = {{"KEY", "two"}};
  EXPECT_EQ(CompileDanger(request, kAlice, {})->digest, digest);
  HostUser bob = kAlice;
  bob.uid = 1001;
  EXPECT_NE(CompileDanger(request, bob, {})->digest, digest);
  request.workspace = "/srv/work";
  EXPECT_NE(CompileDanger(request, kAlice, {})->digest, digest);
}

TEST(CompileTest, MakesNoCellOfDangerFullAccess) {
  HostFacts facts;
  facts.system = {{"/usr", ""}};
  EXPECT_THAT(Compile(Danger(), facts).status().message(),
              StartsWith("mode: danger_full_access: "));
}

}  // namespace
}  // namespace odyssey::compile
