#include "policy/ceiling/check.h"

#include <gtest/gtest.h>

namespace odyssey::ceiling {
namespace {

using policy::Access;
using policy::SandboxRequest;

constexpr char kFile[] = "/etc/odyssey/policy.d/10.yaml";

Origin At(int line) { return {kFile, line}; }

Owner Alice() {
  return {.uid = 1000,
          .name = "alice",
          .home = "/home/alice",
          .gids = {1000, 100},
          .groups = {"alice", "dev"}};
}

Asker Asks(Owner owner = Alice()) {
  return {std::move(owner),
          {.own_directories = {"/var/lib/odyssey", "/run/odyssey", "/etc/odyssey"},
           .bundle_store = "/var/lib/odyssey/agentd/bundles"}};
}

Ceiling Of(Grant grant) {
  Ceiling ceiling;
  ceiling.grants = {std::move(grant)};
  return ceiling;
}

SandboxRequest Mounting(const std::string& source, Access access = Access::kReadOnly) {
  SandboxRequest request;
  request.mounts = {{source, "/data", access}};
  return request;
}

SandboxRequest Exporting(const std::string& name) {
  SandboxRequest request;
  request.env[name] = "value";
  return request;
}

Status Of(const Ceiling& ceiling, const SandboxRequest& request, const Asker& asker = Asks()) {
  return Check(ceiling, request, asker);
}

void ExpectDenied(const Status& status, const std::vector<std::string>& words) {
  EXPECT_EQ(status.code(), Code::kPermissionDenied) << status.ToString();
  for (const std::string& word : words) {
    EXPECT_NE(status.message().find(word), std::string::npos) << word << " in " << status.message();
  }
}

// ── The built-in ceiling ────────────────────────────────────────────────────────────────────────

TEST(BuiltInTest, ShowsWhatThePlanCheckShows) {
  EXPECT_TRUE(Of(BuiltIn(), Mounting("/srv/data", Access::kReadWrite)).ok());
  EXPECT_TRUE(Of(BuiltIn(), Mounting("/home/bob")).ok());
  EXPECT_TRUE(Of(BuiltIn(), Exporting("LANG")).ok());
  SandboxRequest request;
  request.network = policy::Network::kFull;
  request.executables_mode = policy::ExecutablesMode::kAll;
  request.landlock = policy::Landlock::kBestEffort;
  EXPECT_TRUE(Of(BuiltIn(), request).ok());
}

TEST(BuiltInTest, RefusesSecretsDangerAndNoProtection) {
  for (const char* name : {"GH_TOKEN", "OPENAI_API_KEY", "AWS_REGION", "SSH_AUTH_SOCK"}) {
    ExpectDenied(Of(BuiltIn(), Exporting(name)), {"env: ", name, "looks like a secret"});
  }
  SandboxRequest danger;
  danger.mode = policy::Mode::kDangerFullAccess;
  ExpectDenied(Of(BuiltIn(), danger),
               {"mode: danger_full_access: ", "uid 1000 (alice)", "read_only or workspace_write"});
  SandboxRequest bare;
  bare.protection = policy::Protection::kNone;
  ExpectDenied(Of(BuiltIn(), bare), {"protection: none: ", "default is allowed"});
}

// ── Places ──────────────────────────────────────────────────────────────────────────────────────

TEST(CheckPathTest, NamesTheKeyTheValueAndWhatIsGranted) {
  const Ceiling ceiling =
      Of({.users = {"*"}, .read = {{"/srv/data", At(4)}}, .write = {{"/srv/out", At(5)}}});
  EXPECT_TRUE(Of(ceiling, Mounting("/srv/data/x")).ok());
  EXPECT_TRUE(Of(ceiling, Mounting("/srv/out", Access::kReadWrite)).ok());
  EXPECT_TRUE(Of(ceiling, Mounting("/srv/out")).ok()) << "what may be written may be read";
  EXPECT_EQ(Of(ceiling, Mounting("/srv/other")),
            PermissionDenied("mounts[0].source: /srv/other: reading it is not granted by the "
                             "operator's ceiling to uid 1000 (alice); granted: /srv/data (" +
                             std::string(kFile) + ":4), /srv/out (" + kFile + ":5)"));
  EXPECT_EQ(Of(ceiling, Mounting("/srv/data", Access::kReadWrite)),
            PermissionDenied("mounts[0].source: /srv/data: writing it is not granted by the "
                             "operator's ceiling to uid 1000 (alice); granted: /srv/out (" +
                             std::string(kFile) + ":5); reading it is, by " + kFile + ":4"));
  ExpectDenied(Of(ceiling, Mounting("/srv")), {"/srv: reading it is not granted"});
  ExpectDenied(Of(Ceiling{}, Mounting("/srv")), {"granted: nothing"});
}

TEST(CheckPathTest, TheWorkspaceIsAPlaceLikeAny) {
  const Ceiling ceiling = Of({.users = {"*"}, .read = {{"/srv", At(4)}}});
  SandboxRequest request;
  request.workspace = "/srv/project";
  ExpectDenied(Of(ceiling, request), {"workspace: /srv/project: writing it"});
  request.mode = policy::Mode::kReadOnly;
  EXPECT_TRUE(Of(ceiling, request).ok());
  request.workspace = "/home/alice";
  ExpectDenied(Of(ceiling, request), {"workspace: /home/alice: reading it"});
}

TEST(CheckPathTest, AnExecutableOfTheHostIsAPlaceLikeAny) {
  const Ceiling ceiling = Of({.users = {"*"}, .read = {{"/srv/bin", At(4)}}});
  SandboxRequest request;
  request.executables_mode = policy::ExecutablesMode::kExplicit;
  request.executables = {"git", "/usr/bin/env", "/workspace/run", "/srv/bin/tool"};
  EXPECT_TRUE(Of(ceiling, request).ok());
  request.executables.push_back("/home/bob/tool");
  ExpectDenied(Of(ceiling, request), {"executables[4]: /home/bob/tool: reading it"});
}

TEST(CheckPathTest, ForbiddenPlacesWinOverGrants) {
  Ceiling ceiling = Of({.users = {"*"}, .write = {{"/", At(4)}}});
  ceiling.forbidden = {{"/srv/secret", At(9)}, {"~/.ssh", At(10)}, {"/home/*/.aws", At(11)}};
  EXPECT_TRUE(Of(ceiling, Mounting("/srv/open")).ok());
  ExpectDenied(Of(ceiling, Mounting("/srv/secret")),
               {"mounts[0].source: /srv/secret: forbidden by " + std::string(kFile) + ":9"});
  ExpectDenied(Of(ceiling, Mounting("/srv/secret/below")), {":9"});
  ExpectDenied(Of(ceiling, Mounting("/srv")), {"it holds what is forbidden by", ":9"});
  ExpectDenied(Of(ceiling, Mounting("/home/alice")), {"it holds what is forbidden by", ":10"});
  ExpectDenied(Of(ceiling, Mounting("/home/bob/.aws/x")), {":11"});
  EXPECT_TRUE(Of(ceiling, Mounting("/home/bob/.ssh")).ok()) << "~ is the asker's home";
}

TEST(CheckPathTest, NoGrantLiftsWhatNoPlanMayShow) {
  const Ceiling ceiling = Of({.users = {"*"},
                              .write = {{"/etc", At(4)},
                                        {"/proc", At(5)},
                                        {"/run", At(6)},
                                        {"/var/run", At(6)},
                                        {"/var/lib/odyssey", At(7)},
                                        {"/", At(8)}}});
  for (const char* path : {"/",
                           "/etc",
                           "/etc/ssh",
                           "/proc",
                           "/sys/fs",
                           "/dev",
                           "/run/docker.sock",
                           "/boot",
                           "/home",
                           "/root",
                           "/var",
                           "/tmp",
                           "/usr",
                           "/var/run",
                           "/var/run/docker.sock",
                           "/var/lib/odyssey",
                           "/var/lib/odyssey/agentd/sessions",
                           "/run/odyssey",
                           "/etc/odyssey/policy.d",
                           "/var/lib"}) {
    ExpectDenied(Of(ceiling, Mounting(path)), {"mounts[0].source", path});
  }
  SandboxRequest request;
  request.workspace = "/etc/odyssey/policy.d";
  ExpectDenied(Of(ceiling, request), {"workspace: /etc/odyssey/policy.d"});
}

TEST(CheckPathTest, AnInstalledBundleNeedsNoGrantToBeRead) {
  SandboxRequest request;
  request.mode = policy::Mode::kReadOnly;
  request.workspace = "/var/lib/odyssey/agentd/bundles/x@1";
  EXPECT_TRUE(Of(Ceiling{}, request).ok());
  request.mode = policy::Mode::kWorkspaceWrite;
  EXPECT_FALSE(Of(Ceiling{}, request).ok());
  request.mode = policy::Mode::kReadOnly;
  request.workspace = "/var/lib/odyssey/agentd/bundles";
  EXPECT_FALSE(Of(Ceiling{}, request).ok()) << "one bundle, not all of them";
}

TEST(CheckPathTest, APathThatIsNotNormalisedIsNotGuessedAt) {
  const Ceiling ceiling = Of({.users = {"*"}, .read = {{"/srv", At(4)}}});
  for (const char* path : {"", "srv", "/srv/../etc", "/srv/./x", "/srv//x", "/srv/"}) {
    EXPECT_EQ(Of(ceiling, Mounting(path)).code(), Code::kInvalidArgument) << path;
  }
}

// ── People ──────────────────────────────────────────────────────────────────────────────────────

TEST(CheckUserTest, AGrantIsForThosePeopleOnly) {
  const Owner bob = {
      .uid = 1001, .name = "bob", .home = "/home/bob", .gids = {1001}, .groups = {"bob"}};
  const Owner unknown = {.uid = 4242};
  const auto allowed = [](const std::string& rule, const Owner& owner) {
    return Of(Of({.users = {rule}, .read = {{"/srv", At(4)}}}), Mounting("/srv"), Asks(owner)).ok();
  };
  for (const char* rule : {"alice", "1000", "group:dev", "group:100", "*"}) {
    EXPECT_TRUE(allowed(rule, Alice())) << rule;
  }
  for (const char* rule :
       {"alice", "1000", "group:dev", "group:100", "100", "dev", "group:alice"}) {
    EXPECT_FALSE(allowed(rule, bob)) << rule;
    EXPECT_FALSE(allowed(rule, unknown)) << rule;
  }
  EXPECT_TRUE(allowed("4242", unknown));
  const Owner numeric = {.uid = 7, .name = "1000"};
  EXPECT_FALSE(allowed("1000", numeric)) << "a number is a uid, whatever a user calls himself";
}

TEST(CheckUserTest, ATildeIsTheAskersHome) {
  const Ceiling ceiling = Of({.users = {"*"}, .write = {{"~", At(4)}}});
  EXPECT_TRUE(Of(ceiling, Mounting("/home/alice/x", Access::kReadWrite)).ok());
  ExpectDenied(Of(ceiling, Mounting("/home/bob/x")), {"granted: ~ ("});
  ExpectDenied(Of(ceiling, Mounting("/srv"), Asks({.uid = 33, .name = "www", .home = "/"})), {});
}

// ── Choices ─────────────────────────────────────────────────────────────────────────────────────

TEST(CheckChoiceTest, EachIsGrantedByItselfAndRefusedWithout) {
  struct Case {
    Choice choice;
    SandboxRequest request;
    std::vector<std::string> words;
  };
  std::vector<Case> cases(kChoices);
  cases[0] = {Choice::kNetworkEgress, {.network = policy::Network::kEgress}, {"network: egress:"}};
  cases[1] = {
      Choice::kNetworkFull, {.network = policy::Network::kFull}, {"network: full:", "none"}};
  cases[2] = {Choice::kAllExecutables,
              {.executables_mode = policy::ExecutablesMode::kAll},
              {"executables_mode: all:", "explicit or standard"}};
  cases[6] = {Choice::kWorkspaceExecutables,
              {.executables_mode = policy::ExecutablesMode::kWorkspace},
              {"executables_mode: workspace:", "explicit or standard"}};
  cases[3] = {Choice::kLandlockBestEffort,
              {.landlock = policy::Landlock::kBestEffort},
              {"landlock: best_effort:", "hard_requirement"}};
  cases[4] = {Choice::kProtectionNone,
              {.protection = policy::Protection::kNone},
              {"protection: none:", "default"}};
  cases[5] = {Choice::kDangerFullAccess,
              {.mode = policy::Mode::kDangerFullAccess},
              {"mode: danger_full_access:"}};
  for (const Case& c : cases) {
    ExpectDenied(Of(Ceiling{}, c.request), c.words);
    for (const Case& granted : cases) {
      Grant grant = {.users = {"alice"}};
      grant.choices[static_cast<size_t>(granted.choice)] = At(5);
      const bool both =
          granted.choice == Choice::kAllExecutables && c.choice == Choice::kWorkspaceExecutables;
      EXPECT_EQ(Of(Of(grant), c.request).ok(), both || granted.choice == c.choice) << c.words[0];
    }
  }
}

TEST(CheckChoiceTest, DangerIsNeverForRoot) {
  Grant grant = {.users = {"*"}};
  grant.choices[static_cast<size_t>(Choice::kDangerFullAccess)] = At(5);
  const SandboxRequest request = {.mode = policy::Mode::kDangerFullAccess};
  EXPECT_TRUE(Of(Of(grant), request).ok());
  ExpectDenied(Of(Of(grant), request, Asks({.uid = 0, .name = "root", .home = "/root"})),
               {"mode: danger_full_access: never for uid 0"});
}

TEST(CheckChoiceTest, WhatEverybodyMayHaveNeedsNoGrant) {
  SandboxRequest request;
  request.mode = policy::Mode::kReadOnly;
  request.executables_mode = policy::ExecutablesMode::kExplicit;
  request.executables = {"git"};
  request.protect = {"config"};
  request.deny = {"**/.env"};
  EXPECT_TRUE(Of(Ceiling{}, request).ok());
}

// ── Variables ───────────────────────────────────────────────────────────────────────────────────

TEST(CheckEnvTest, NamesByPatternAndSecretsByTheirOwnNameOnly) {
  const Ceiling ceiling =
      Of({.users = {"*"}, .env = {{"LC_*", At(4)}, {"*_TOKEN", At(5)}, {"GH_TOKEN", At(6)}}});
  EXPECT_TRUE(Of(ceiling, Exporting("LC_ALL")).ok());
  EXPECT_TRUE(Of(ceiling, Exporting("GH_TOKEN")).ok());
  ExpectDenied(Of(ceiling, Exporting("NPM_TOKEN")),
               {"env: NPM_TOKEN: it looks like a secret", "uid 1000 (alice)"});
  ExpectDenied(Of(ceiling, Exporting("HOME_PAGE")),
               {"env: HOME_PAGE: not granted", "LC_* (" + std::string(kFile) + ":4)"});
}

TEST(CheckEnvTest, OneVariableUnderItsOwnKey) {
  const Ceiling ceiling = Of({.users = {"alice"}, .env = {{"LANG", At(4)}}});
  const Result<Ruling> granted = JudgeEnv(ceiling, "sandbox.env.X", "LANG", Alice());
  ASSERT_TRUE(granted.ok());
  EXPECT_EQ(*granted, (Ruling{"sandbox.env.X", "LANG", At(4)}));
  ExpectDenied(JudgeEnv(ceiling, "sandbox.env.X", "GH_TOKEN", Alice()).status(),
               {"sandbox.env.X: GH_TOKEN:"});
  ExpectDenied(JudgeEnv(ceiling, "sandbox.env.X", "LANG", {.uid = 5}).status(), {"uid 5;"});
}

TEST(GrantedSourcesTest, TheNamesOfTheHostCountAndNotThoseOfTheCell) {
  const std::map<std::string, std::string> host = {{"GH_TOKEN", "s"}, {"LANG", "C"}};
  const auto sources = [&](const std::map<std::string, std::string>& env) {
    return GrantedSources(BuiltIn(), Alice(), env, host);
  };
  EXPECT_EQ(*sources({{"A", "LANG"}, {"B", "MISSING_TOKEN"}}), (std::set<std::string>{"LANG"}));
  ExpectDenied(sources({{"HARMLESS", "GH_TOKEN"}}).status(), {"env.HARMLESS: GH_TOKEN: "});
}

// ── Limits ──────────────────────────────────────────────────────────────────────────────────────

TEST(WallClockWithinTest, IsTheBoundIfThatIsLess) {
  Ceiling ceiling;
  EXPECT_EQ(WallClockWithin(ceiling, 60'000), 60'000u);
  ceiling.most[policy::LimitIndex("wall_clock_ms")].value = 5000;
  EXPECT_EQ(WallClockWithin(ceiling, 60'000), 5000u);
  EXPECT_EQ(WallClockWithin(ceiling, 4000), 4000u);
}

TEST(CheckLimitsTest, EveryFieldHasABound) {
  for (size_t i = 0; i < policy::kLimitCount; ++i) {
    const policy::LimitKey& field = policy::kLimitKeys[i];
    Ceiling ceiling;
    ceiling.most[i] = {1000, At(7)};
    SandboxRequest request;
    EXPECT_TRUE(Of(ceiling, request).ok()) << field.name;
    field.set(&request.limits, 1000);
    EXPECT_TRUE(Of(ceiling, request).ok()) << field.name;
    field.set(&request.limits, 1001);
    EXPECT_EQ(Of(ceiling, request),
              PermissionDenied("limits." + std::string(field.name) +
                               ": 1001: at most 1000 is allowed by " + kFile + ":7"));
  }
}

// ── What is granted ─────────────────────────────────────────────────────────────────────────────

TEST(JudgeTest, SaysByWhichRuleEachThingIsGranted) {
  Grant grant = {.users = {"*"},
                 .read = {{"/srv", At(4)}},
                 .write = {{"/srv/out", At(5)}},
                 .env = {{"MY_*", At(6)}}};
  grant.choices[static_cast<size_t>(Choice::kNetworkFull)] = At(7);
  SandboxRequest request;
  request.network = policy::Network::kFull;
  request.workspace = "/srv/out";
  request.mounts = {{"/srv/in", "/in"}, {"/srv/out/x", "/x", Access::kReadWrite}};
  request.env["MY_LANG"] = "C";
  request.env["LC_ALL"] = "C";  // needs no grant
  const auto rulings = Judge(Of(grant), request, Asks());
  ASSERT_TRUE(rulings.ok()) << rulings.status().ToString();
  EXPECT_EQ(*rulings, (std::vector<Ruling>{{"network", "full", At(7)},
                                           {"workspace", "/srv/out", At(5), true},
                                           {"mounts[0].source", "/srv/in", At(4), true},
                                           {"mounts[1].source", "/srv/out/x", At(5), true},
                                           {"env", "MY_LANG", At(6)}}));
}

}  // namespace
}  // namespace odyssey::ceiling
