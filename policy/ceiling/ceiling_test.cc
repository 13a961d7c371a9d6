#include "policy/ceiling/ceiling.h"

#include <gtest/gtest.h>

#include "policy/ceiling/check.h"

namespace odyssey::ceiling {
namespace {

size_t FieldNamed(std::string_view name) {
  for (size_t i = 0; i < policy::kLimitCount; ++i) {
    if (policy::kLimitKeys[i].name == name) return i;
  }
  ADD_FAILURE() << name;
  return 0;
}

Ceiling Bounded(const char* field, uint64_t most, uint64_t unset, const std::string& file) {
  Ceiling ceiling;
  ceiling.most[FieldNamed(field)] = {most, {file, 1}};
  ceiling.unset[FieldNamed(field)] = {unset, {file, 2}};
  return ceiling;
}

TEST(CeilingTest, KnowsUsersAndGroups) {
  for (const char* good : {"*", "alice", "1000", "group:dev", "group:100", "a-b.c_d", "svc$"}) {
    EXPECT_TRUE(CheckUserRule(good).ok()) << good;
  }
  for (const char* bad : {"", "group:", "group:*", "al*", "a b", "%dev", "a:b", "**"}) {
    EXPECT_EQ(CheckUserRule(bad).code(), Code::kInvalidArgument) << bad;
  }
}

TEST(CeilingTest, KnowsASecretByItsName) {
  for (const char* name : {"X_API_KEY",     "GH_TOKEN",     "AWS_REGION",
                           "SSH_AUTH_SOCK", "A_SECRET",     "DB_PASSWORD",
                           "TOKEN",         "PASSWORD",     "SECRET",
                           "API_KEY",       "API_KEYS",     "SECRET_KEY",
                           "PRIVATE_KEY",   "GH_PAT",       "PGPASSWORD",
                           "MYSQL_PWD",     "DATABASE_URL", "GOOGLE_APPLICATION_CREDENTIALS",
                           "KUBECONFIG",    "github_token", "OPENAI_APIKEY",
                           "NPM_TOKEN_X",   "A_PASSPHRASE", "DOCKER_AUTH_CONFIG"}) {
    EXPECT_TRUE(LooksSecret(name)) << name;
  }
  for (const char* name :
       {"PATH", "MAX_TOKENS", "MY_AWS_X", "", "AWS", "PWD", "OLDPWD", "KEYBOARD_LAYOUT", "LANG",
        "OPENAI_BASE_URL", "MODEL_ENDPOINT", "KEY", "XDG_SESSION_ID", "COMPASS_DIR"}) {
    EXPECT_FALSE(LooksSecret(name)) << name;
  }
}

TEST(MergeTest, GrantsAndForbiddenPlacesAddUp) {
  Ceiling first, second;
  first.grants = {{.users = {"alice"}, .read = {{"/srv", {"1", 2}}}}};
  first.forbidden = {{"/srv/a", {"1", 3}}};
  second.grants = {{.users = {"bob"}}};
  second.forbidden = {{"/srv/b", {"2", 3}}};
  Merge(second, &first);
  ASSERT_EQ(first.grants.size(), 2u);
  EXPECT_EQ(first.grants[1].users, std::vector<std::string>{"bob"});
  ASSERT_EQ(first.forbidden.size(), 2u);
  EXPECT_EQ(first.forbidden[1].origin, (Origin{"2", 3}));
}

TEST(MergeTest, OfImagesTheSmallerQuotaAndTheLaterDefaultHoldAndAllKeysAreWanted) {
  Ceiling merged, second;
  EXPECT_EQ(ImageQuotaOf(merged.images), kDefaultImageQuota);
  merged.images = {{80, {"1", 1}}, {{"registry.test/*", "/a.pem", {"1", 2}}}, {"first", {"1", 4}}};
  second.images = {
      {60, {"2", 1}}, {{"registry.test/app:1", "/b.pem", {"2", 2}}}, {"second", {"2", 4}}};
  Merge(second, &merged);
  Merge({}, &merged);
  EXPECT_EQ(ImageQuotaOf(merged.images), 60u);
  EXPECT_EQ(merged.images.odek_default.text, "second");
  const auto keys = [&](const std::string& name, const std::string& repository) {
    std::string out;
    for (const SignedImages& rule : SignaturesOf(merged.images, name, repository)) out += rule.key;
    return out;
  };
  EXPECT_EQ(keys("registry.test/app:1", "registry.test/app"), "/a.pem/b.pem");
  EXPECT_EQ(keys("registry.test/app:2", "registry.test/app"), "/a.pem");
  EXPECT_EQ(keys("other/app:1", "other/app"), "");
  EXPECT_EQ(keys("", ""), "");
  EXPECT_NE(Digest(merged), Digest(second));
}

TEST(MergeTest, OfTwoLimitsTheSmallerHoldsAndNoneIsNoBound) {
  const size_t pids = FieldNamed("pids");
  Ceiling merged = Bounded("pids", 100, 50, "1");
  Merge(Bounded("pids", 80, 60, "2"), &merged);
  EXPECT_EQ(merged.most[pids], (Bound{80, {"2", 1}}));
  EXPECT_EQ(merged.unset[pids], (Bound{50, {"1", 2}}));
  Merge(Bounded("memory_bytes", 7, 0, "3"), &merged);
  EXPECT_EQ(merged.most[pids], (Bound{80, {"2", 1}}));
  EXPECT_EQ(merged.most[FieldNamed("memory_bytes")].value, 7u);
}

// What a user may have of what QuotaOf counts: 0 for no bound.
uint64_t SessionsOf(const Ceiling& ceiling, const Owner& owner) {
  return QuotaOf(ceiling, owner)[static_cast<size_t>(Counted::kSessions)].value;
}

TEST(QuotaOfTest, TheRuleThatNamesTheUserMostCloselyHolds) {
  Ceiling ceiling;
  const auto add = [&](const std::string& user, uint64_t sessions, int line) {
    QuotaRule rule = {{user}, {}};
    rule.bounds[0] = {sessions, {"q.yaml", line}};
    ceiling.quotas.push_back(rule);
  };
  const Owner alice = {1000, "alice", "/home/alice", {100}, {"dev"}};
  const Owner bob = {1001, "bob", "/home/bob", {100}, {"dev"}};
  const Owner carol = {1002, "carol", "/home/carol", {7}, {"ops"}};
  const Owner root = {0, "root", "/root", {0}, {"root"}};
  EXPECT_EQ(SessionsOf(ceiling, alice), 0u);
  add("*", 10, 1);
  add("group:dev", 20, 2);
  add("alice", 40, 3);
  add("1000", 30, 4);
  add("group:100", 25, 5);
  EXPECT_EQ(SessionsOf(ceiling, alice), 30u);
  EXPECT_EQ(SessionsOf(ceiling, bob), 20u);
  EXPECT_EQ(SessionsOf(ceiling, carol), 10u);
  EXPECT_EQ(SessionsOf(ceiling, root), 0u) << "* is not root";
  EXPECT_EQ(QuotaOf(ceiling, alice)[0].origin, (Origin{"q.yaml", 4}));
  add("root", 5, 6);
  EXPECT_EQ(SessionsOf(ceiling, root), 5u);
}

TEST(QuotaOfTest, EachKindHasItsOwnClosestRule) {
  Ceiling ceiling;
  ceiling.quotas = {{{"*"}, {}}, {{"alice"}, {}}};
  ceiling.quotas[0].bounds[1] = {4, {"q.yaml", 1}};
  ceiling.quotas[1].bounds[0] = {9, {"q.yaml", 2}};
  const Quota quota = QuotaOf(ceiling, {.uid = 1000, .name = "alice"});
  EXPECT_EQ(quota[0].value, 9u);
  EXPECT_EQ(quota[1].value, 4u);
  EXPECT_EQ(Describe(ceiling),
            (std::vector<std::string>{"users *: quota cells 4  (q.yaml:1)",
                                      "users alice: quota sessions 9  (q.yaml:2)"}));
}

TEST(FillLimitsTest, AnUnsetLimitIsTheOperatorsOrTheDefaultButNeverAboveTheBound) {
  struct Case {
    uint64_t most, unset, expected;
  };
  // Processes: 512 where nobody says anything, which stays unsaid.
  for (const Case& c : {Case{0, 0, 0},
                        {0, 64, 64},
                        {100, 0, 100},
                        {1000, 0, 0},
                        {100, 200, 100},
                        {1000, 600, 600},
                        {0, 4000, 4000}}) {
    policy::Limits limits;
    FillLimits(Bounded("pids", c.most, c.unset, "f"), false, &limits);
    EXPECT_EQ(limits.pids, c.expected) << c.most << " " << c.unset;
  }
}

TEST(FillLimitsTest, WhatNoDefaultBoundsTheCeilingDoes) {
  for (const char* field : {"wall_clock_ms", "cpu_seconds", "disk_bytes"}) {
    policy::Limits limits;
    FillLimits(Bounded(field, 5000, 0, "f"), false, &limits);
    EXPECT_EQ(policy::kLimitKeys[FieldNamed(field)].get(limits), 5000u) << field;
  }
}

TEST(FillLimitsTest, AnEphemeralCellHasNoDisk) {
  policy::Limits limits;
  FillLimits(Bounded("disk_bytes", 5000, 0, "f"), true, &limits);
  EXPECT_EQ(limits.disk_bytes, 0u);
}

TEST(FillLimitsTest, LeavesWhatIsAskedFor) {
  policy::Limits limits = {.pids = 7};
  FillLimits(Bounded("pids", 100, 50, "f"), false, &limits);
  EXPECT_EQ(limits.pids, 7u);
}

TEST(DescribeTest, OneRuleALineWithItsPlace) {
  Ceiling ceiling = Bounded("pids", 80, 40, "/p/1.yaml");
  Grant grant = {.users = {"alice", "group:dev"},
                 .read = {{"/srv", {"/p/1.yaml", 4}}},
                 .write = {{"~", {"/p/1.yaml", 5}}},
                 .env = {{"LC_*", {"/p/1.yaml", 6}}}};
  grant.choices[static_cast<size_t>(Choice::kNetworkFull)] = Origin{"/p/1.yaml", 7};
  ceiling.grants = {grant};
  ceiling.forbidden = {{"~/.ssh", {"/p/1.yaml", 8}}};
  EXPECT_EQ(
      Describe(ceiling),
      (std::vector<std::string>{"users alice group:dev: read /srv  (/p/1.yaml:4)",
                                "users alice group:dev: write ~  (/p/1.yaml:5)",
                                "users alice group:dev: env LC_* but no secrets  (/p/1.yaml:6)",
                                "users alice group:dev: network full  (/p/1.yaml:7)",
                                "forbidden ~/.ssh  (/p/1.yaml:8)", "at most pids 80  (/p/1.yaml:1)",
                                "unset means pids 40  (/p/1.yaml:2)"}));
}

TEST(DigestTest, ChangesWithEveryRule) {
  Ceiling ceiling = BuiltIn();
  const std::string before = Digest(ceiling);
  EXPECT_EQ(before.size(), 64u);
  EXPECT_EQ(Digest(BuiltIn()), before);
  ceiling.most[0] = {1, {}};
  EXPECT_NE(Digest(ceiling), before);
}

}  // namespace
}  // namespace odyssey::ceiling
