#include "policy/lattice/lattice.h"

#include <gtest/gtest.h>

namespace odyssey::lattice {
namespace {

using policy::Access;
using policy::Mount;
using policy::SandboxRequest;

constexpr Access kRead = Access::kReadOnly, kWrite = Access::kReadWrite;

SandboxRequest With(std::vector<Mount> mounts) { return {.mounts = std::move(mounts)}; }

std::vector<Mount> MountsOf(const SandboxRequest& parent, const SandboxRequest& child) {
  const Result<SandboxRequest> both = Narrow(parent, child);
  EXPECT_TRUE(both.ok()) << both.status().ToString();
  return both.ok() ? both->mounts : std::vector<Mount>{};
}

void ExpectBeyond(const SandboxRequest& child, const SandboxRequest& parent,
                  const std::string& item) {
  EXPECT_EQ(IsWithin(child, parent), PermissionDenied(item));
}

// ── Paths ───────────────────────────────────────────────────────────────────────────────────────

TEST(LatticePathTest, APathThatIsNotNormalisedIsNotGuessedAt) {
  const SandboxRequest parent = With({{"/srv", "/s", kWrite}});
  for (const char* path :
       {"/srv/../etc", "/srv/a/..", "/srv/./a", "/srv//a", "/srv/", "srv", ".", "", "/srv/a\n"}) {
    const SandboxRequest child = With({{path, "/x", kRead}});
    EXPECT_EQ(IsWithin(child, parent).code(), Code::kInvalidArgument) << path;
    EXPECT_EQ(IsWithin(parent, child).code(), Code::kInvalidArgument) << path;
    const std::string value = *path == '\0' ? "" : std::string(path) + ": ";
    EXPECT_EQ(Narrow(parent, child).status().message(),
              "mounts[0].source: " + value + "a normalised absolute path is allowed");
  }
  SandboxRequest workspace;
  workspace.workspace = "/srv/../etc";
  EXPECT_EQ(IsWithin(workspace, parent).code(), Code::kInvalidArgument);
}

TEST(LatticePathTest, ContainmentIsByComponent) {
  struct Case {
    const char* child;
    const char* parent;
    bool within;
  };
  for (const Case& c : {Case{"/srv", "/srv", true},
                        {"/srv/a", "/srv", true},
                        {"/srv", "/srv/a", false},
                        {"/srvx", "/srv", false},
                        {"/srv-a", "/srv", false},
                        {"/sr", "/srv", false}}) {
    EXPECT_EQ(IsWithin(With({{c.child, "/x"}}), With({{c.parent, "/y"}})).ok(), c.within)
        << c.child << " " << c.parent;
  }
}

TEST(LatticePathTest, WhereAMountAppearsGivesNothing) {
  const SandboxRequest a = With({{"/srv", "/one"}}), b = With({{"/srv", "/two"}});
  EXPECT_TRUE(IsWithin(a, b).ok());
  EXPECT_EQ(*RightsOf(a), *RightsOf(b));
  EXPECT_EQ(MountsOf(a, b), b.mounts) << "the child's place";
}

// ── Mounts ──────────────────────────────────────────────────────────────────────────────────────

TEST(LatticeMountTest, EachAttributeIsBounded) {
  const Mount plain = {"/srv", "/s", kRead};
  struct Case {
    const char* name;
    Mount child, parent;
    const char* item;
  };
  const Case cases[] = {
      {"access", {"/srv", "/s", kWrite}, plain, "mounts[0].source: /srv (read, write)"},
      {"executable", {"/srv", "/s", kRead, true}, plain, "mounts[0].source: /srv (read, execute)"},
      {"suffix", plain, {"/srv", "/s", kRead, false, {".md"}}, "mounts[0].source: /srv (read)"},
      {"another suffix",
       {"/srv", "/s", kRead, false, {".md", ".c"}},
       {"/srv", "/s", kRead, false, {".md"}},
       "mounts[0].source: /srv (read, *.c, *.md)"},
      {"size",
       {"/srv", "/s", kRead, false, {}, 11},
       {"/srv", "/s", kRead, false, {}, 10},
       "mounts[0].source: /srv (read, up to 11 bytes)"},
      {"any size", plain, {"/srv", "/s", kRead, false, {}, 10}, "mounts[0].source: /srv (read)"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    ExpectBeyond(With({c.child}), With({c.parent}), c.item);
    EXPECT_TRUE(IsWithin(With({c.parent}), With({c.child})).ok());
  }
}

TEST(LatticeMountTest, TheDeeperSourceAndTheWeakerAccessAreCommon) {
  EXPECT_EQ(MountsOf(With({{"/srv", "/p", kWrite}}), With({{"/srv/a", "/c", kRead}})),
            (std::vector<Mount>{{"/srv/a", "/c", kRead}}));
  EXPECT_EQ(MountsOf(With({{"/srv/a/b", "/p", kRead}}), With({{"/srv", "/c", kWrite}})),
            (std::vector<Mount>{{"/srv/a/b", "/c/a/b", kRead}}));
  EXPECT_EQ(MountsOf(With({{"/srv/a", "/p"}}), With({{"/srv/b", "/c"}})), std::vector<Mount>{});
}

TEST(LatticeMountTest, SuffixesHaveTheirCommonOnes) {
  const auto narrowed = [](std::vector<std::string> a, std::vector<std::string> b) {
    const auto mounts = MountsOf(With({{"/s", "/p", kRead, false, std::move(a)}}),
                                 With({{"/s", "/c", kRead, false, std::move(b)}}));
    return mounts.empty() ? std::vector<std::string>{"none"} : mounts[0].suffixes;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(narrowed({}, {".md"}), Names{".md"});
  EXPECT_EQ(narrowed({".md", ".c"}, {".c", ".h"}), Names{".c"});
  EXPECT_EQ(narrowed({"d"}, {".md"}), Names{".md"});
  EXPECT_EQ(narrowed({".md"}, {".c"}), Names{"none"});
  EXPECT_EQ(narrowed({""}, {".c"}), Names{".c"});
}

TEST(LatticeMountTest, WhatDoesNotFitWhereTheChildWantsItGetsAPlaceOfItsOwn) {
  // The child's one mount becomes two that may not lie inside each other.
  EXPECT_EQ(MountsOf(With({{"/srv", "/p", kRead}, {"/srv/out", "/o", kWrite}}),
                     With({{"/srv", "/c", kWrite}})),
            (std::vector<Mount>{{"/srv", "/c", kRead},
                                {"/srv/out", "/mount/write/abs/srv/out", kWrite}}));
  // One source in two ways that are not comparable.
  EXPECT_EQ(MountsOf(With({{"/srv", "/p", kRead, true}, {"/srv", "/q", kWrite}}),
                     With({{"/srv", "/c", kRead, true}, {"/srv", "/d", kWrite}})),
            (std::vector<Mount>{{"/srv", "/c", kRead, true}, {"/srv", "/d", kWrite}}));
}

TEST(LatticeMountTest, ASecondPlaceOfTheChildStays) {
  const SandboxRequest child = With({{"/srv", "/c", kWrite}, {"/srv/a", "/also", kRead}});
  EXPECT_EQ(MountsOf(With({{"/srv", "/p", kWrite}}), child), child.mounts);
}

// ── The workspace ───────────────────────────────────────────────────────────────────────────────

TEST(LatticeWorkspaceTest, IsATreeLikeAMount) {
  SandboxRequest parent, child;
  parent.workspace = "/home/u/p";
  child.workspace = "/home/u/p/sub";
  EXPECT_TRUE(IsWithin(child, parent).ok());
  EXPECT_EQ(Narrow(parent, child)->workspace, "/home/u/p/sub");
  EXPECT_TRUE(IsWithin(With({{"/home/u/p/x", "/x", kWrite}}), parent).ok());
  EXPECT_TRUE(IsWithin(child, With({{"/home/u", "/x", kWrite}})).ok());
  EXPECT_EQ(Narrow(With({{"/home/u", "/x", kWrite}}), child)->workspace, "/home/u/p/sub");
  child.workspace = "/home/u";
  ExpectBeyond(child, parent, "workspace: /home/u (read, write)");
}

TEST(LatticeWorkspaceTest, OneThatIsGivenInPartBecomesAMount) {
  SandboxRequest parent, child;
  parent.workspace = "/home/u/p/sub";
  child.workspace = "/home/u/p";
  const Result<SandboxRequest> both = Narrow(parent, child);
  EXPECT_EQ(both->workspace, "");
  EXPECT_EQ(both->mounts,
            (std::vector<Mount>{{"/home/u/p/sub", "/mount/write/abs/home/u/p/sub", kWrite}}));
}

TEST(LatticeWorkspaceTest, AReadOnlyModeMakesItReadOnly) {
  SandboxRequest parent, child;
  parent.mode = policy::Mode::kReadOnly;
  parent.workspace = child.workspace = "/home/u/p";
  const Result<SandboxRequest> both = Narrow(parent, child);
  EXPECT_EQ(both->mode, policy::Mode::kReadOnly);
  EXPECT_EQ(both->workspace, "/home/u/p");
  const Result<Rights> asked = RightsOf(child), given = RightsOf(parent);
  EXPECT_EQ(
      Excess(*asked, *given),
      (std::vector<Status>{PermissionDenied("mode: workspace_write, where read_only is the most"),
                           PermissionDenied("workspace: /home/u/p (read, write)")}));
}

// ── protect and deny, and roots ─────────────────────────────────────────────────────────────────

TEST(LatticeRootTest, WhatIsKeptBackIsNotGivenByBeginningFurtherDown) {
  struct Case {
    const char* name;
    SandboxRequest lists;  // of both
    const char* source;
    Access access;
    bool within;
  };
  const Case cases[] = {
      {"nothing is kept back", {}, "/p/a", kWrite, true},
      {"protect moves", {.protect = {"config"}}, "/p/a", kWrite, false},
      {"protect at the same root", {.protect = {"config"}}, "/p", kWrite, true},
      {"protect keeps back no reading", {.protect = {"config"}}, "/p/config", kRead, true},
      {"an anchored deny moves", {.deny = {"secrets/**"}}, "/p/secrets", kRead, false},
      {"an anchored deny moves elsewhere", {.deny = {"secrets/**"}}, "/p/a", kRead, false},
      {"a deny of several names", {.deny = {"**/a/b"}}, "/p/a", kRead, false},
      {"deny anywhere", {.deny = {"**/.env"}}, "/p/a", kRead, true},
      {"deny anywhere, passed by", {.deny = {"**/secrets"}}, "/p/secrets/x", kRead, false},
      {"deny anywhere, by one character", {.deny = {"**/secret?"}}, "/p/secrets/x", kRead, false},
      {"deny anywhere, the root itself", {.deny = {"**/s*"}}, "/p/a/secrets", kRead, false},
      {"deny of what lies below", {.deny = {"**/secrets/**"}}, "/p/secrets", kRead, false},
      {"the default protection", {}, "/p/.git/hooks", kWrite, false},
      {"the default protection, read", {}, "/p/.git/hooks", kRead, true},
      {"no protection", {.protection = policy::Protection::kNone}, "/p/.git/hooks", kWrite, true},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    SandboxRequest parent = c.lists, child = c.lists;
    parent.mounts = {{"/p", "/p", kWrite}};
    child.mounts = {{c.source, "/c", c.access}};
    EXPECT_EQ(IsWithin(child, parent).ok(), c.within);
    const std::vector<Mount> both = MountsOf(parent, child);
    EXPECT_EQ(both == child.mounts, c.within);
  }
}

TEST(LatticeRootTest, WhatMayNotBeWrittenFromThereMayStillBeRead) {
  EXPECT_EQ(MountsOf(With({{"/p", "/p", kWrite}}), With({{"/p/.git", "/c", kWrite}})),
            (std::vector<Mount>{{"/p/.git", "/c", kRead}}));
}

TEST(LatticeRootTest, ListsAddUp) {
  SandboxRequest parent, child;
  parent.protect = {"a", "b/c"};
  child.protect = {"b"};
  parent.deny = {"**/.env"};
  child.deny = {"**/id_rsa"};
  const Result<SandboxRequest> both = Narrow(parent, child);
  EXPECT_EQ(both->protect, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(both->deny, (std::vector<std::string>{"**/.env", "**/id_rsa"}));
  EXPECT_EQ(Excess(*RightsOf(child), *RightsOf(parent)),
            (std::vector<Status>{PermissionDenied("protect: a is not protected"),
                                 PermissionDenied("deny: **/.env is not denied")}));
}

// ── Everything else ─────────────────────────────────────────────────────────────────────────────

egress::NetworkPolicy Named() {
  egress::Endpoint endpoint;
  endpoint.host = "api.example.com";
  endpoint.ports = {80, 443};
  return {.rules = {{.key = "api",
                     .endpoints = {endpoint},
                     .binaries = {{.path = "/usr/bin/git"}, {.path = "/**"}}}}};
}

egress::NetworkPolicy Both(egress::NetworkPolicy first, const egress::NetworkPolicy& second) {
  first.rules.insert(first.rules.end(), second.rules.begin(), second.rules.end());
  return first;
}

TEST(LatticeChoiceTest, ABudgetOfTheNetworkIsTheSmallerOfBoth) {
  SandboxRequest parent{.network = policy::Network::kEgress, .egress = Named()};
  SandboxRequest child = parent;
  parent.egress.budget = {.requests_per_minute = 60, .bytes_up = 9};
  child.egress.budget = {.requests_per_minute = 6, .bytes_down = 7};
  EXPECT_EQ(IsWithin(child, parent).message(),
            "network_budget.bytes_up: unlimited, where 9 is the most");
  const egress::Budget both{.requests_per_minute = 6, .bytes_up = 9, .bytes_down = 7};
  EXPECT_EQ(Narrow(child, parent)->egress.budget, both);
  child.network = policy::Network::kNone;
  EXPECT_TRUE(IsWithin(child, parent).ok());
  child.network = policy::Network::kEgress;
  // Of the whole network no budget is known.
  parent = {.network = policy::Network::kFull};
  EXPECT_TRUE(IsWithin(child, parent).ok());
  EXPECT_EQ(Narrow(child, parent)->egress.budget, child.egress.budget);
}

TEST(LatticeChoiceTest, EndpointsAreCountedForEachProgramAndPort) {
  SandboxRequest parent{.network = policy::Network::kEgress, .egress = Named()};
  SandboxRequest child = parent;
  child.egress.rules[0].binaries = {{.path = "/usr/bin/git"}};
  child.egress.rules[0].endpoints[0].ports = {443};
  child.egress.rules[0].endpoints[0].key = "elsewhere";
  EXPECT_TRUE(IsWithin(child, parent).ok());
  EXPECT_FALSE(IsWithin(parent, child).ok());
  EXPECT_EQ(Narrow(child, parent)->egress.rules[0].endpoints[0].ports, std::vector<uint16_t>{443});
}

TEST(LatticeChoiceTest, APinnedProgramLiesInTheSameWithoutAPin) {
  SandboxRequest parent{.network = policy::Network::kEgress, .egress = Named()};
  SandboxRequest pinned = parent;
  const egress::Binary pin{.path = "/usr/bin/git", .sha256 = "a", .only_itself = true};
  pinned.egress.rules[0].binaries = {pin};
  EXPECT_TRUE(IsWithin(pinned, parent).ok());
  EXPECT_EQ(IsWithin(parent, pinned).message(),
            "egress: api.example.com:80, bytes, enforce, for /**");
  EXPECT_EQ(Narrow(pinned, parent)->egress.rules[0].binaries, std::vector<egress::Binary>{pin});
  SandboxRequest other = pinned;
  other.egress.rules[0].binaries[0].sha256 = "b";
  EXPECT_FALSE(IsWithin(other, pinned).ok());
  SandboxRequest itself = pinned;
  itself.egress.rules[0].binaries[0].sha256.clear();
  EXPECT_TRUE(IsWithin(pinned, itself).ok());
  EXPECT_TRUE(IsWithin(itself, parent).ok());
  EXPECT_FALSE(IsWithin(itself, pinned).ok());
}

// Of two endpoints for one host a child cannot leave out the one that denies.
TEST(LatticeChoiceTest, WhatIsDeniedIsDeniedToTheChild) {
  SandboxRequest parent{.network = policy::Network::kEgress, .egress = Both(Named(), Named())};
  parent.egress.rules[1].endpoints[0].deny = {{.method = "DELETE"}};
  SandboxRequest child = parent;
  child.egress.rules.pop_back();
  EXPECT_FALSE(IsWithin(child, parent).ok());
}

TEST(LatticeChoiceTest, EachHasItsOrderAndItsWords) {
  struct Case {
    SandboxRequest more, less;
    const char* item;
  };
  using policy::ExecutablesMode;
  using policy::Mode;
  using policy::Network;
  const Case cases[] = {
      {{.mode = Mode::kWorkspaceWrite},
       {.mode = Mode::kReadOnly},
       "mode: workspace_write, where read_only is the most"},
      {{.network = Network::kFull}, {}, "network: full, where none is the most"},
      {{.network = Network::kFull},
       {.network = Network::kEgress, .egress = egress::PublicPolicy("a")},
       "network: full, where egress is the most"},
      {{.network = Network::kEgress, .egress = egress::PublicPolicy("a")},
       {},
       "network: egress, where none is the most"},
      {{.network = Network::kEgress, .egress = Both(egress::PublicPolicy("a"), Named())},
       {.network = Network::kEgress, .egress = Named()},
       "egress: every public host and port, bytes, enforce, for /**"},
      {{.providers = {"aws", "github"}}, {.providers = {"aws"}}, "providers: github"},
      {{.executables_mode = ExecutablesMode::kAll},
       {},
       "executables_mode: all, where standard is the most"},
      {{},
       {.executables_mode = ExecutablesMode::kExplicit, .executables = {"git"}},
       "executables_mode: standard, where explicit is the most"},
      {{.executables_mode = ExecutablesMode::kExplicit, .executables = {"git", "sh"}},
       {.executables_mode = ExecutablesMode::kExplicit, .executables = {"git"}},
       "executables: sh"},
      {{.env = {{"A", "1"}}}, {}, "env: A"},
      {{}, {.ephemeral = true}, "ephemeral: false, where true is the most"},
      {{.protection = policy::Protection::kNone},
       {},
       "protection: none, where default is the most"},
      {{.landlock = policy::Landlock::kBestEffort},
       {},
       "landlock: best_effort, where hard_requirement is the most"},
      {{.limits = {.pids = 513}}, {}, "limits.pids: 513, where 512 is the most"},
      {{}, {.limits = {.disk_bytes = 9}}, "limits.disk_bytes: unlimited, where 9 is the most"},
      {{.limits = {.wall_clock_ms = 10}},
       {.limits = {.wall_clock_ms = 9}},
       "limits.wall_clock_ms: 10, where 9 is the most"},
  };
  for (const Case& c : cases) {
    ExpectBeyond(c.more, c.less, c.item);
    EXPECT_TRUE(IsWithin(c.less, c.more).ok()) << c.item;
    EXPECT_EQ(*RightsOf(*Narrow(c.more, c.less)), *RightsOf(c.less)) << c.item;
  }
}

TEST(LatticeChoiceTest, AnExecutableOfTheHostIsATree) {
  SandboxRequest child;
  child.executables_mode = policy::ExecutablesMode::kExplicit;
  child.executables = {"/home/u/bin/tool"};
  ExpectBeyond(child, SandboxRequest{}, "executables[0]: /home/u/bin/tool (read, execute)");
  const SandboxRequest parent = With({{"/home/u/bin", "/b", kRead, true}});
  EXPECT_TRUE(IsWithin(child, parent).ok());
  EXPECT_EQ(Narrow(parent, child)->executables, child.executables);
  child.executables = {"/workspace/run"};
  ExpectBeyond(child, parent, "executables: /workspace/run");
}

TEST(LatticeChoiceTest, DangerGivesEverything) {
  SandboxRequest danger;
  danger.mode = policy::Mode::kDangerFullAccess;
  SandboxRequest child = With({{"/p/.git", "/g", kWrite}});
  child.network = policy::Network::kFull;
  child.executables_mode = policy::ExecutablesMode::kAll;
  child.protect = {"x"};
  EXPECT_TRUE(IsWithin(child, danger).ok());
  EXPECT_EQ(Narrow(danger, child)->mounts, child.mounts);
  ExpectBeyond(danger, child, "mode: danger_full_access, where workspace_write is the most");
}

TEST(LatticeChoiceTest, ValuesAndInnerUidsAreTheChilds) {
  SandboxRequest parent = {.env = {{"A", "theirs"}}, .user = 5};
  SandboxRequest child = {.env = {{"A", "ours"}, {"B", "b"}}, .user = 6};
  const Result<SandboxRequest> both = Narrow(parent, child);
  EXPECT_EQ(both->env, (std::map<std::string, std::string>{{"A", "ours"}}));
  EXPECT_EQ(both->user, 6u);
}

SandboxRequest Held() {
  return {.mounts = {{"/srv/d", "/d", policy::Access::kReadWrite}, {"/srv/d/ro", "/d/ro"}}};
}

// A read-only part of a writable directory is kept back, as a protected name is.
TEST(LatticeChoiceTest, ALimitThatNeitherAsksForIsUnsaid) {
  constexpr uint64_t kTwo = uint64_t{2} << 30, kHalf = uint64_t{512} << 20;
  const auto memory = [](uint64_t value, uint64_t unsaid) {
    SandboxRequest request;
    request.limits.memory_bytes = value;
    request.unsaid_limits.memory_bytes = unsaid;
    return request;
  };
  const SandboxRequest silent = memory(0, 0), filled = memory(kHalf, kHalf),
                       said = memory(kHalf, 0);
  EXPECT_EQ(Narrow(silent, silent)->unsaid_limits.memory_bytes, kTwo);
  EXPECT_EQ(Narrow(silent, filled)->unsaid_limits.memory_bytes, kHalf);
  EXPECT_EQ(Narrow(said, silent)->unsaid_limits.memory_bytes, 0u);
  EXPECT_EQ(Narrow(filled, said)->unsaid_limits.memory_bytes, 0u);
}

TEST(LatticeTest, AReadOnlyPartIsKeptBack) {
  const SandboxRequest whole = {.mounts = {{"/srv/d", "/d", policy::Access::kReadWrite}}};
  const auto excess = [](const SandboxRequest& child, const SandboxRequest& parent) {
    return Excess(*RightsOf(child), *RightsOf(parent)).size();
  };
  EXPECT_EQ(excess(whole, Held()), 1u);
  EXPECT_EQ(excess(Held(), whole), 0u);
  EXPECT_EQ(excess(Held(), Held()), 0u);
  const SandboxRequest inside = {.mounts = {{"/srv/d/ro/x", "/x", policy::Access::kReadWrite}}};
  EXPECT_EQ(excess(inside, Held()), 1u);
  EXPECT_EQ(excess(inside, whole), 0u);
  SandboxRequest elsewhere = Held();  // read-only at another place, and writable at its own
  elsewhere.mounts[1].target = "/other";
  EXPECT_EQ(excess(elsewhere, Held()), 1u);
}

TEST(LatticeTest, WhatIsKeptBackStaysSoInWhatBothGive) {
  const SandboxRequest whole = {.mounts = {{"/srv/d", "/data", policy::Access::kReadWrite}}};
  const auto narrowed = Narrow(Held(), whole);
  ASSERT_TRUE(narrowed.ok());
  EXPECT_TRUE(Excess(*RightsOf(*narrowed), *RightsOf(Held())).empty());
  const policy::Mount part = {.source = "/srv/d/ro", .target = "/data/ro"};
  EXPECT_EQ(std::count(narrowed->mounts.begin(), narrowed->mounts.end(), part), 1);
}

}  // namespace
}  // namespace odyssey::lattice
