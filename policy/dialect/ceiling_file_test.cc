#include "policy/dialect/ceiling_file.h"

#include <gtest/gtest.h>

namespace odyssey::dialect {
namespace {

using ceiling::Choice;
using ceiling::Origin;

constexpr char kFile[] = "10.yaml";

ceiling::Ceiling Good(const std::string& text) {
  Problems problems;
  ceiling::Ceiling out = ReadCeiling(kFile, text, &problems);
  for (const Problem& problem : problems) ADD_FAILURE() << ToString(problem);
  return out;
}

std::vector<std::string> Bad(const std::string& text) {
  Problems problems;
  (void)ReadCeiling(kFile, text, &problems);
  std::vector<std::string> lines;
  for (const Problem& problem : problems) lines.push_back(ToString(problem));
  return lines;
}

std::string Versioned(const std::string& text) { return "version: odyssey.ceiling/v1\n" + text; }

uint64_t ValueOf(const ceiling::Bounds& bounds, std::string_view name) {
  for (size_t i = 0; i < bounds.size(); ++i) {
    if (policy::kLimitKeys[i].name == name) return bounds[i].value;
  }
  return 0;
}

TEST(ReadCeilingTest, HasEveryKeyWithItsLine) {
  const ceiling::Ceiling out = Good(R"(version: odyssey.ceiling/v1
grants:
  - users: ["*", alice, "1000", "group:dev"]
    read:
      - /srv/data
      - /home/*/public
    write: [~/work]
    env: [LANG, "LC_*", GH_TOKEN]
    network: [none, egress, full]
    executables: [explicit, standard, all]
    landlock: [best_effort]
    protection:
      - none
    mode: [danger_full_access]
forbidden:
  - ~/.ssh
limits:
  max:
    memory_mb: 4096
    wall_clock_s: 60
  default: {pids: 100}
)");
  ASSERT_EQ(out.grants.size(), 1u);
  const ceiling::Grant& grant = out.grants[0];
  EXPECT_EQ(grant.users, (std::vector<std::string>{"*", "alice", "1000", "group:dev"}));
  EXPECT_EQ(grant.read, (std::vector<ceiling::Entry>{{"/srv/data", {kFile, 5}},
                                                     {"/home/*/public", {kFile, 6}}}));
  EXPECT_EQ(grant.write, (std::vector<ceiling::Entry>{{"~/work", {kFile, 7}}}));
  ASSERT_EQ(grant.env.size(), 3u);
  EXPECT_EQ(grant.env[1], (ceiling::Entry{"LC_*", {kFile, 8}}));
  const std::pair<Choice, int> lines[] = {
      {Choice::kNetworkEgress, 9},   {Choice::kNetworkFull, 9},
      {Choice::kAllExecutables, 10}, {Choice::kLandlockBestEffort, 11},
      {Choice::kProtectionNone, 13}, {Choice::kDangerFullAccess, 14}};
  for (const auto& [choice, line] : lines) {
    EXPECT_EQ(grant.choices[static_cast<size_t>(choice)], (Origin{kFile, line}));
  }
  EXPECT_EQ(out.forbidden, (std::vector<ceiling::Entry>{{"~/.ssh", {kFile, 16}}}));
  EXPECT_EQ(ValueOf(out.most, "memory_bytes"), uint64_t{4096} << 20);
  EXPECT_EQ(ValueOf(out.most, "wall_clock_ms"), 60'000u);
  EXPECT_EQ(ValueOf(out.unset, "pids"), 100u);
  EXPECT_EQ(out.most[0].origin, (Origin{kFile, 19}));
}

TEST(ReadCeilingTest, EveryLimitHasAKeyInItsUnit) {
  const ceiling::Ceiling out = Good(Versioned(
      "limits: {max: {memory_mb: 1, cpu_millis: 2, pids: 3, wall_clock_s: 4, cpu_seconds: 5, "
      "open_files: 6, tmp_mb: 7, disk_mb: 8, file_mb: 9}}"));
  const uint64_t expected[] = {1 << 20, 2, 3, 4000, 5, 6, 7 << 20, 8 << 20, 9 << 20};
  for (size_t i = 0; i < out.most.size(); ++i) EXPECT_EQ(out.most[i].value, expected[i]) << i;
}

TEST(ReadCeilingTest, QuotasHaveTheirLines) {
  const ceiling::Ceiling out = Good(Versioned(R"(quotas:
  - users: ["*"]
    sessions: 100
    cells: 8
    turns: 200
    disk_mb: 3
  - {users: [alice], sessions: 5}
)"));
  ASSERT_EQ(out.quotas.size(), 2u);
  EXPECT_EQ(out.quotas[0].users, std::vector<std::string>{"*"});
  EXPECT_EQ(out.quotas[0].bounds,
            (ceiling::Quota{
                {{100, {kFile, 4}}, {8, {kFile, 5}}, {200, {kFile, 6}}, {3 << 20, {kFile, 7}}}}));
  EXPECT_EQ(out.quotas[1].bounds, (ceiling::Quota{{{5, {kFile, 8}}}}));
}

TEST(ReadCeilingTest, AQuotaBoundsSomethingOfSomebody) {
  const std::string file = kFile;
  EXPECT_EQ(Bad(Versioned("quotas:\n  - {users: [a]}")),
            std::vector<std::string>{file + ":3: quotas[0]: bounds nothing: one of `sessions`, "
                                            "`cells`, `turns`, `disk_mb` is needed"});
  EXPECT_EQ(Bad(Versioned("quotas:\n  - {cells: 1}")),
            std::vector<std::string>{file + ":3: quotas[0].users: missing: the users of the quota, "
                                            "[\"*\"] for all"});
  EXPECT_EQ(Bad(Versioned("quotas:\n  - {users: [a], cells: 0}")).front(),
            file + ":3: quotas[0].cells: must be a whole number from 1 to 1000, not 0");
  EXPECT_EQ(Bad(Versioned("quotas:\n  - {users: [a], turns: 1, disk: 1}")).front(),
            file +
                ":3: quotas[0].disk: unknown field `disk`, expected one of `users`, `sessions`, "
                "`cells`, `turns`, `disk_mb`");
}

TEST(ReadCeilingTest, ImagesHaveAQuotaAndKeys) {
  const ceiling::Ceiling out = Good(Versioned(R"(images:
  quota_mb: 3
  require:
    - {name: "registry.test/*", key: /etc/keys/team.pem}
)"));
  EXPECT_EQ(out.images.quota, (ceiling::Bound{3 << 20, {kFile, 3}}));
  EXPECT_EQ(
      out.images.require,
      (std::vector<ceiling::SignedImages>{{"registry.test/*", "/etc/keys/team.pem", {kFile, 5}}}));
  const std::string file = kFile;
  EXPECT_EQ(Bad(Versioned("images: {require: [{name: \"a?\", key: keys/team.pem}]}")),
            (std::vector<std::string>{
                file + ":2: images.require[0].name: `a?` must be an image's name, in which `*` "
                       "stands for any characters",
                file + ":2: images.require[0].key: `keys/team.pem` must be the absolute path of a "
                       "file"}));
  EXPECT_EQ(Bad(Versioned("images: {quota_mb: 0}")).front(),
            file + ":2: images.quota_mb: must be a whole number from 1 to 1073741824, not 0");
}

TEST(ReadCeilingTest, TheDefaultImageOfOdeksPoliciesIsPinned) {
  const std::string file = kFile, digest = "sha256:" + std::string(64, 'a');
  const auto given = [](const std::string& image) {
    return Versioned("images: {odek_default: \"" + image + "\"}");
  };
  for (const std::string& image : {digest, "registry.test:5000/debian:12@" + digest}) {
    EXPECT_EQ(Good(given(image)).images.odek_default, (ceiling::Entry{image, {kFile, 2}}));
  }
  for (const std::string& image :
       {std::string("debian:12"), "debian@sha256:" + std::string(63, 'a'), "@" + digest,
        "debian*@" + digest, "debian@" + digest + "a", "debian@sha256:" + std::string(64, 'A')}) {
    EXPECT_EQ(Bad(given(image)).front(),
              file + ":2: images.odek_default: `" + image +
                  "` must be NAME@sha256:HEX, HEX of 64 lower-case hex digits, or the digest "
                  "alone")
        << image;
  }
}

TEST(ReadCeilingTest, ChoicesThatNeedNoGrantGrantNothing) {
  const ceiling::Ceiling out = Good(Versioned(
      "grants: [{users: [a], network: [none], executables: [explicit, standard], "
      "landlock: [hard_requirement], protection: [default], mode: [read_only, workspace_write]}]"));
  EXPECT_EQ(out.grants[0].choices, decltype(out.grants[0].choices){});
}

TEST(ReadCeilingTest, AnEmptyOneGrantsNothing) {
  EXPECT_EQ(Good("version: odyssey.ceiling/v1"), ceiling::Ceiling{});
}

TEST(ReadCeilingTest, EveryProblemHasItsLineItsKeyAndWhatIsAllowed) {
  struct Case {
    const char* text;
    std::vector<std::string> problems;
  };
  const Case cases[] = {
      {"grants: []", {"10.yaml:1: version: missing field `version`"}},
      {"version: odyssey.ceiling/v2",
       {"10.yaml:1: version: unknown variant `odyssey.ceiling/v2`, expected `odyssey.ceiling/v1`"}},
      {"version: odyssey.ceiling/v1\ngrant: []",
       {"10.yaml:2: grant: unknown field `grant`, expected one of `version`, `builtin`, `grants`, "
        "`forbidden`, `limits`, `quotas`, `images`"}},
      {"version: odyssey.ceiling/v1\ngrants:\n  - read: [/srv]",
       {"10.yaml:3: grants[0].users: missing: the users of the grant, [\"*\"] for all"}},
      {"version: odyssey.ceiling/v1\ngrants:\n  - users: [\"al*\"]\n    read: [srv, /srv/**]",
       {"10.yaml:3: grants[0].users[0]: `al*` must be `*`, a user's name or uid, or `group:` and a "
        "name or gid",
        "10.yaml:4: grants[0].read[0]: `srv` must be an absolute path, or one that begins with "
        "`~/`, without `.`, `..` and a slash at its end",
        "10.yaml:4: grants[0].read[1]: `/srv/**` `**` is not needed: a directory is meant with "
        "everything below it"}},
      {"version: odyssey.ceiling/v1\ngrants:\n  - users: [a]\n    network: [ful]",
       {"10.yaml:4: grants[0].network[0]: unknown variant `ful`, expected one of `none`, `egress`, "
        "`full`"}},
      {"version: odyssey.ceiling/v1\ngrants:\n  - users: [a]\n    env: [A-B]",
       {"10.yaml:4: grants[0].env[0]: `A-B` must be a variable's name, in which `*` stands for any "
        "characters"}},
      {"version: odyssey.ceiling/v1\ngrants:\n  - users: [1000]",
       {"10.yaml:3: grants[0].users[0]: must be a string, not a number (`1000`): put it in quotes",
        "10.yaml:3: grants[0].users: missing: the users of the grant, [\"*\"] for all"}},
      {"version: odyssey.ceiling/v1\nlimits:\n  max:\n    pids: 0\n    memory: 1",
       {"10.yaml:4: limits.max.pids: must be a whole number from 1 to 4294967295, not 0",
        "10.yaml:5: limits.max.memory: unknown field `memory`, expected one of `memory_mb`, "
        "`cpu_millis`, `pids`, `wall_clock_s`, `cpu_seconds`, `open_files`, `tmp_mb`, `disk_mb`, "
        "`file_mb`"}},
      {"version: odyssey.ceiling/v1\nlimits: {least: {}}",
       {"10.yaml:2: limits.least: unknown field `least`, expected one of `max`, `default`"}},
      {"version: odyssey.ceiling/v1\nforbidden: /srv",
       {"10.yaml:2: forbidden: must be a list, not a string (`/srv`)"}},
      {"version: odyssey.ceiling/v1\nforbidden:",
       {"10.yaml:2: forbidden: must be a list, not null"}},
      {"version: odyssey.ceiling/v1\nforbidden: [~]",
       {"10.yaml:2: forbidden[0]: must be a string, not null"}},
      {"version: odyssey.ceiling/v1\nlimits: ~\ngrants: ~",
       {"10.yaml:3: grants: must be a list, not null",
        "10.yaml:2: limits: must be a map, not null"}},
      {"version: odyssey.ceiling/v1\nlimits:\n  max:\n    # pids: 9\n  default: {pids: ~}",
       {"10.yaml:3: limits.max: must be a map, not null",
        "10.yaml:5: limits.default.pids: must be a whole number from 1 to 4294967295, not null"}},
      {"version: odyssey.ceiling/v1\nversion: odyssey.ceiling/v1",
       {"10.yaml:2: duplicate key `version`, first on line 1"}},
  };
  for (const Case& c : cases) EXPECT_EQ(Bad(c.text), c.problems) << c.text;
  EXPECT_FALSE(Bad("").empty());
  EXPECT_FALSE(Bad("- a").empty());
  EXPECT_FALSE(Bad("version: [").empty());
}

}  // namespace
}  // namespace odyssey::dialect
