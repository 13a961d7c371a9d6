#include "policy/compile/compile.h"

#include <algorithm>
#include <functional>

#include <gtest/gtest.h>

#include "policy/compile/compile_fixture.h"
#include "policy/compile/environment.h"
#include "policy/compile/limits.h"
#include "policy/model/default_limits.h"

namespace odyssey::compile {
namespace {

using plan::Access;
using plan::Entry;
using plan::EntryKind;
using policy::ExecutablesMode;
using policy::Mode;
using policy::Network;
using policy::SandboxRequest;

HostFacts Facts() {
  return {.system = {{"/usr", ""},
                     {"/opt", ""},
                     {"/bin", "usr/bin"},
                     {"/lib64", "usr/lib64"},
                     {"/etc/ssl", ""},
                     {"/etc/localtime", "/usr/share/zoneinfo/Etc/UTC"},
                     {"/etc/resolv.conf", ""}},
          .landlock = {landlock::Probe::kInForce, 6},
          .check = {.own_directories = {"/var/lib/odyssey", "/run/odyssey", "/etc/odyssey"},
                    .bundle_store = "/var/lib/odyssey/agentd/bundles",
                    .max_memory_bytes = uint64_t{64} << 30,
                    .max_pids = 4096}};
}

Compiled Good(const SandboxRequest& request, const HostFacts& facts = Facts()) {
  return ExpectCompiles(request, facts);
}

Status Bad(const SandboxRequest& request) { return Compile(request, Facts()).status(); }

// The rights at `path`: those of every rule at or above it, as Landlock adds them up.
uint8_t RightsAt(const Compiled& compiled, const std::string& path) {
  uint8_t rights = 0;
  for (const cell::LandlockRule& rule : compiled.confinement.rules) {
    if (plan::IsWithin(path, rule.path)) rights |= rule.rights;
  }
  return rights;
}

SandboxRequest WithMount(const std::string& source, const std::string& target,
                         policy::Access access = policy::Access::kReadOnly) {
  return {.mounts = {{source, target, access}}};
}

// What a command builds in its workspace runs; what it downloads to /tmp does not.
TEST(CompileTest, WorkspaceModeExecutesWhatTheWorkspaceHolds) {
  for (const char* workspace : {"", "/srv/w"}) {
    SandboxRequest request = {.executables_mode = ExecutablesMode::kWorkspace,
                              .workspace = workspace};
    const Compiled compiled = Good(request);
    EXPECT_TRUE(Find(compiled, "/workspace")->executable);
    EXPECT_NE(RightsAt(compiled, "/workspace/a.out") & cell::kExecute, 0);
    EXPECT_FALSE(Find(compiled, "/tmp")->executable);
    EXPECT_EQ(RightsAt(compiled, "/tmp/a.out") & cell::kExecute, 0);
    request.executables_mode = ExecutablesMode::kStandard;
    EXPECT_FALSE(Find(Good(request), "/workspace")->executable);
  }
}

TEST(CompileTest, RefusesACredentialThatNothingInspects) {
  SandboxRequest request = {.network = Network::kEgress};
  request.egress.rules = {{.key = "x", .binaries = {{.path = "/**"}}}};
  request.egress.rules[0].endpoints = {{.host = "a.example.com", .ports = {443}}};
  egress::Endpoint& endpoint = request.egress.rules[0].endpoints[0];
  endpoint.credentials.provider = "p";
  EXPECT_EQ(Bad(request).code(), Code::kInvalidArgument);
  endpoint.protocol = egress::Protocol::kRest;
  Good(request);
  endpoint.tls = egress::Tls::kSkip;
  EXPECT_NE(Bad(request).message().find("credentialed endpoint"), std::string::npos);
  endpoint.credentials.allow_uninspected = true;
  Good(request);
}

TEST(CompileTest, MakesAPlanThatRootAccepts) {
  Compiled compiled = Good(WithMount("/home/u/p", "/workspace/mount/read/abs/home/u/p"));
  compiled.plan.cell_id = "c1";
  EXPECT_TRUE(plan::CheckPlan(compiled.plan, Facts().check).ok());
  EXPECT_TRUE(plan::DecodePlan(plan::EncodePlan(compiled.plan)).ok());
}

TEST(CompileTest, WritesExactlyWhereTheModeSays) {
  for (const Mode mode : {Mode::kReadOnly, Mode::kWorkspaceWrite}) {
    const Compiled compiled = Good({.mode = mode});
    const bool writable = mode == Mode::kWorkspaceWrite;
    EXPECT_EQ(Find(compiled, "/workspace")->access,
              writable ? Access::kReadWrite : Access::kReadOnly);
    EXPECT_EQ((RightsAt(compiled, "/workspace/f") & cell::kWrite) != 0, writable);
    for (const std::string path : {"/cell/data/home", "/cell/cache", "/cell/tmp", "/cell/runs",
                                   "/tmp", "/dev/null", "/dev/shm/x"}) {
      EXPECT_NE(RightsAt(compiled, path) & cell::kWrite, 0) << path;
    }
    for (const std::string path : {"/", "/usr/bin", "/etc/passwd", "/opt", "/run", "/.odyssey",
                                   "/dev/x", "/proc/self/mem", "/proc/sys/kernel/core_pattern"}) {
      EXPECT_EQ(RightsAt(compiled, path) & cell::kWrite, 0) << path;
    }
  }
}

TEST(CompileTest, ExecutesOnlySystemTreesInStandardMode) {
  const Compiled compiled = Good(WithMount("/srv/d", "/d", policy::Access::kReadWrite));
  for (const std::string path : {"/usr/bin/sh", "/opt/tool"}) {
    EXPECT_NE(RightsAt(compiled, path) & cell::kExecute, 0) << path;
  }
  for (const std::string path : {"/workspace/x", "/tmp/x", "/cell/tmp/x", "/d/x", "/dev/shm/x",
                                 "/proc/1/exe", "/etc/ssl/x", "/.odyssey/cell-init"}) {
    EXPECT_EQ(RightsAt(compiled, path) & cell::kExecute, 0) << path;
  }
  for (const Entry& entry : compiled.plan.entries) {
    const bool system = entry.target == "/usr" || entry.target == "/opt";
    EXPECT_EQ(entry.executable, system) << entry.target;
  }
}

TEST(CompileTest, ExecutesEverythingVisibleInAllMode) {
  SandboxRequest request = WithMount("/srv/d", "/d");
  request.executables_mode = ExecutablesMode::kAll;
  const Compiled compiled = Good(request);
  for (const std::string target : {"/usr", "/workspace", "/tmp", "/cell/data", "/d"}) {
    EXPECT_TRUE(Find(compiled, target)->executable) << target;
    EXPECT_NE(RightsAt(compiled, target + "/x") & cell::kExecute, 0) << target;
  }
}

TEST(CompileTest, ShowsTheHostsResolverOnlyWithTheHostsNetwork) {
  const Compiled none = Good({});
  ASSERT_NE(Find(none, "/etc/resolv.conf"), nullptr);
  EXPECT_EQ(Find(none, "/etc/resolv.conf")->kind, EntryKind::kFile);
  EXPECT_EQ(Find(none, "/etc/resolv.conf")->source, "nameserver 127.0.0.1\n") << "cell-init's";
  const Compiled full = Good({.network = Network::kFull});
  ASSERT_NE(Find(full, "/etc/resolv.conf"), nullptr);
  EXPECT_EQ(full.plan.network, plan::Network::kFull);
}

TEST(CompileTest, FollowsTheResolversLinkToKnownPlacesOnly) {
  const auto source_of = [](const std::string& link) {
    HostFacts facts = Facts();
    facts.system.back().link_target = link;
    const Compiled compiled = Good({.network = Network::kFull}, facts);
    const Entry* entry = Find(compiled, "/etc/resolv.conf");
    return entry == nullptr ? "" : entry->source;
  };
  EXPECT_EQ(source_of("../run/systemd/resolve/stub-resolv.conf"),
            "/run/systemd/resolve/stub-resolv.conf");
  EXPECT_EQ(source_of("/run/resolvconf/resolv.conf"), "/run/resolvconf/resolv.conf");
  EXPECT_EQ(source_of("../root/secret"), "");
  EXPECT_EQ(source_of("shadow"), "");
}

TEST(CompileTest, HidesTheHostsIdentity) {
  const Compiled compiled = Good({});
  for (const std::string target : {"/etc/machine-id", "/etc/shadow", "/sys", "/home", "/root"}) {
    EXPECT_EQ(Find(compiled, target), nullptr) << target;
  }
  EXPECT_EQ(Find(compiled, "/etc/hostname")->source, "cell\n");
  EXPECT_NE(Find(compiled, "/etc/passwd")->source.find("agent:x:1000:1000"), std::string::npos);
}

// A slot that finds neither makes no command (supervisor/cell_init/slot.cc).
TEST(CompileTest, HasWhatCoversTheHostsFilesOfProc) {
  const Compiled compiled = Good({});
  ASSERT_NE(Find(compiled, cell::kEmptyFile), nullptr);
  EXPECT_EQ(Find(compiled, cell::kEmptyFile)->kind, EntryKind::kFile);
  EXPECT_EQ(Find(compiled, cell::kEmptyFile)->source, "");
  ASSERT_NE(Find(compiled, cell::kEmptyDirectory), nullptr);
  EXPECT_EQ(Find(compiled, cell::kEmptyDirectory)->kind, EntryKind::kDirectory);
}

TEST(CompileTest, LeavesOutASystemTreeThatContainsOdysseysState) {
  HostFacts facts = Facts();
  facts.check.own_directories.push_back("/opt/odyssey/state");
  const Compiled compiled = Good({}, facts);
  EXPECT_EQ(Find(compiled, "/opt"), nullptr);
  EXPECT_NE(Find(compiled, "/usr"), nullptr);
}

TEST(CompileTest, PutsMirroredMountsOnMemoryThatTheAgentCannotWrite) {
  EXPECT_EQ(Find(Good({}), "/workspace/mount"), nullptr);
  const Compiled compiled = Good(WithMount("/home/u/p", "/workspace/mount/read/current"));
  const Entry* mirror = Find(compiled, "/workspace/mount");
  ASSERT_NE(mirror, nullptr);
  EXPECT_EQ(mirror->kind, EntryKind::kTmpfs);
  EXPECT_EQ(mirror->access, Access::kReadOnly);
}

TEST(CompileTest, PlacesNothingInsideAHostWorkspace) {
  SandboxRequest request = WithMount("/home/u/p", "/workspace/mount/read/current");
  request.workspace = "/home/u/w";
  EXPECT_EQ(Bad(request).code(), Code::kInvalidArgument);
  request.mounts[0].target = "/data";
  const Compiled compiled = Good(request);
  EXPECT_EQ(Find(compiled, "/workspace")->kind, EntryKind::kHostTree);
  EXPECT_EQ(Find(compiled, "/workspace")->ownership, plan::Ownership::kMapped);
}

TEST(CompileTest, NothingInsideARepositorysOwnFilesIsWritable) {
  for (const char* source :
       {"/srv/r/.git/worktrees/w", "/srv/r/.git/modules", "/srv/r/.git/HEAD"}) {
    SandboxRequest request = WithMount(source, "/data");
    request.mounts[0].access = policy::Access::kReadWrite;
    EXPECT_EQ(Bad(request).code(), Code::kPermissionDenied) << source;
    request.mounts[0].access = policy::Access::kReadOnly;
    Good(request);
    SandboxRequest workspace;
    workspace.workspace = source;
    workspace.mode = policy::Mode::kWorkspaceWrite;
    EXPECT_EQ(Bad(workspace).code(), Code::kPermissionDenied) << source;
  }
  SandboxRequest whole = WithMount("/srv/r/.git", "/data");
  whole.mounts[0].access = policy::Access::kReadWrite;
  Good(whole);
}

TEST(CompileTest, JoinsTheSameMountTwiceAndRefusesTwoSourcesForATarget) {
  SandboxRequest request = WithMount("/srv/d", "/d");
  request.mounts.push_back({"/srv/d", "/d", policy::Access::kReadWrite});
  const Compiled compiled = Good(request);
  EXPECT_EQ(Find(compiled, "/d")->access, Access::kReadWrite);

  request.mounts.push_back({"/srv/e", "/d", policy::Access::kReadOnly});
  EXPECT_EQ(Bad(request).message(), "mounts[2].target: /d: already the target of /srv/d");
}

TEST(CompileTest, RefusesTargetsThatHideTheCellsOwn) {
  for (const std::string target : {"/",
                                   "/proc",
                                   "/proc/x",
                                   "/dev",
                                   "/usr",
                                   "/usr/local/x",
                                   "/etc",
                                   "/etc/x",
                                   "/.odyssey",
                                   "/cell",
                                   "/cell/data",
                                   "/bin",
                                   "/lib64",
                                   "/opt/x",
                                   "/tmp",
                                   "/run",
                                   "/var",
                                   "/var/tmp",
                                   "/sys",
                                   "/workspace",
                                   "/workspace/x",
                                   "/workspace/mount",
                                   "relative",
                                   "/a/../b",
                                   "/a/"}) {
    EXPECT_EQ(Bad(WithMount("/srv/d", target)).code(), Code::kInvalidArgument) << target;
  }
  for (const std::string target :
       {"/d", "/home/u/p", "/tmp/x", "/var/tmp/x", "/var/lib/x", "/run/x"}) {
    EXPECT_TRUE(Compile(WithMount("/srv/d", target), Facts()).ok()) << target;
  }
}

TEST(CompileTest, RefusesAMountInsideAnother) {
  SandboxRequest request = WithMount("/srv/d", "/d");
  request.mounts.push_back({"/srv/x", "/d-x", policy::Access::kReadOnly});
  EXPECT_TRUE(Compile(request, Facts()).ok());
  request.mounts.push_back({"/srv/e", "/d/e", policy::Access::kReadOnly});
  EXPECT_EQ(Bad(request).code(), Code::kInvalidArgument);
}

TEST(CompileTest, SaysWhichMountLiesInsideWhich) {
  EXPECT_EQ(
      Bad({.mounts = {{"/srv/b", "/data/b"}, {"/srv/a", "/data"}}}),
      InvalidArgument("mounts[0].target: /data/b: lies inside /data, the target of mounts[1] "
                      "(/srv/a): only what that has there may be placed inside a directory of "
                      "the host"));
}

using policy::Access::kReadOnly;
using policy::Access::kReadWrite;
using policy::Access::kReview;

TEST(CompileTest, AWritablePartOfAReadOnlyTree) {
  const Compiled compiled =
      Good({.mounts = {{"/srv/d/sub", "/srv/d/sub", kReadWrite}, {"/srv/d", "/srv/d", kReadOnly}}});
  const Entry* const inner = Find(compiled, "/srv/d/sub");
  ASSERT_NE(inner, nullptr);
  EXPECT_EQ(inner->kind, EntryKind::kHostTree);
  EXPECT_EQ(inner->access, Access::kReadWrite);
  EXPECT_EQ(Find(compiled, "/srv/d")->access, Access::kReadOnly);
  EXPECT_EQ(RightsAt(compiled, "/srv/d/other") & cell::kWrite, 0);
  EXPECT_NE(RightsAt(compiled, "/srv/d/sub/x") & cell::kWrite, 0);
}

// Each directory above it is a mount point too, so that none can be renamed away.
TEST(CompileTest, AReadOnlyPartOfAWritableTree) {
  const Compiled compiled = Good({.mounts = {{"/srv/d", "/srv/d", kReadWrite},
                                             {"/srv/d/a/b/ro", "/srv/d/a/b/ro", kReadOnly}}});
  for (const char* pinned : {"/srv/d/a", "/srv/d/a/b"}) {
    const Entry* const pin = Find(compiled, pinned);
    ASSERT_NE(pin, nullptr) << pinned;
    EXPECT_EQ(pin->kind, EntryKind::kPart);
    EXPECT_EQ(pin->access, Access::kReadWrite);
  }
  const Entry* const inner = Find(compiled, "/srv/d/a/b/ro");
  ASSERT_NE(inner, nullptr);
  EXPECT_EQ(inner->kind, EntryKind::kPart);
  EXPECT_EQ(inner->access, Access::kReadOnly);
}

TEST(CompileTest, PartsOfPartsAndTheWorkspace) {
  const Compiled compiled = Good({.mounts = {{"/srv/w/a", "/workspace/a", kReadOnly},
                                             {"/srv/w/a/b", "/workspace/a/b", kReadWrite},
                                             {"/srv/w/mount/read/x", "/workspace/mount/read/x"}},
                                  .workspace = "/srv/w"});
  EXPECT_EQ(Find(compiled, "/workspace/a")->access, Access::kReadOnly);
  EXPECT_EQ(Find(compiled, "/workspace/a/b")->access, Access::kReadWrite);
  EXPECT_EQ(Find(compiled, "/workspace/mount")->kind, EntryKind::kPart) << "the host's own";
  const SandboxRequest other = {.mounts = {{"/srv/x", "/workspace/a"}}, .workspace = "/srv/w"};
  EXPECT_EQ(Bad(other).code(), Code::kInvalidArgument);
}

// The protection of the tree around it is that of the part as well.
TEST(CompileTest, AProtectedNameIsProtectedInAPart) {
  const Compiled compiled =
      Good({.mounts = {{"/srv/d", "/d", kReadWrite}, {"/srv/d/x/ro", "/d/x/ro", kReadOnly}},
            .protect = {"x", "x/ro/deep"}});
  EXPECT_EQ(Find(compiled, "/d/x")->access, Access::kReadOnly);
  EXPECT_EQ(Find(compiled, "/d/x/ro")->access, Access::kReadOnly);
}

TEST(CompileTest, WhatAddsNothingInsideAnotherIsLeftOut) {
  const Compiled compiled =
      Good({.mounts = {{"/srv/d", "/d", kReview}, {"/srv/d/x", "/d/x", kReview}}});
  EXPECT_EQ(Find(compiled, "/d/x"), nullptr) << "the copy is one";
  EXPECT_EQ(Bad({.mounts = {{"/srv/d", "/d", kReview}, {"/srv/d/x", "/d/x", kReadWrite}}}).code(),
            Code::kInvalidArgument);
  EXPECT_NE(
      Find(Good({.mounts = {{"/srv/d", "/d", kReview}, {"/srv/d/x", "/d/x", kReadOnly}}}), "/d/x"),
      nullptr);
}

// A guard shows one tree.
TEST(CompileTest, NoMountLiesInsideAnotherWhereNamesAreDenied) {
  SandboxRequest request = {
      .mounts = {{"/srv/d", "/d", kReadOnly}, {"/srv/d/x", "/d/x", kReadWrite}},
      .deny = {"**/secret"}};
  EXPECT_EQ(Bad(request).code(), Code::kInvalidArgument);
  request.mounts.pop_back();
  Good(request);
}

// Visible anyway; a mount there has the access that was asked for, and is as executable as before.
TEST(CompileTest, WhatTheSystemsTreesHaveMayBeMountedAtItsPlace) {
  const Compiled compiled = Good(
      {.mounts = {{"/opt/tool", "/opt/tool", kReadOnly}, {"/opt/data", "/opt/data", kReadWrite}}});
  EXPECT_TRUE(Find(compiled, "/opt/tool")->executable);
  EXPECT_FALSE(Find(compiled, "/opt/data")->executable);
  EXPECT_EQ(Find(compiled, "/opt/data")->access, Access::kReadWrite);
  Good(WithMount("/usr/local/x", "/usr/local/x"));
  EXPECT_EQ(Bad(WithMount("/usr/local/x", "/usr/local/x", kReadWrite)).code(),
            Code::kPermissionDenied);
  EXPECT_EQ(Bad(WithMount("/opt", "/opt")).code(), Code::kInvalidArgument);
}

TEST(CompileTest, MountsBelowVarTmpLieInADirectoryOfItsOwn) {
  const Compiled compiled = Good(WithMount("/var/tmp/x/ro", "/var/tmp/x/ro"));
  EXPECT_EQ(Find(compiled, "/var/tmp")->kind, EntryKind::kTmpfs);
  EXPECT_NE(RightsAt(compiled, "/var/tmp/other") & cell::kWrite, 0);
  EXPECT_EQ(Find(Good({}), "/var/tmp")->kind, EntryKind::kSymlink);
}

TEST(CompileTest, RefusesNamesThatNoDirectoryCanHave) {
  const std::string longest = "/data/" + std::string(255, 'a');
  Good(WithMount("/srv/a", longest));
  const Status status = Bad(WithMount("/srv/a", longest + "a"));
  EXPECT_EQ(status.message().rfind("mounts[0].target: /data/aaa", 0), 0u) << status.message();
}

TEST(CompileTest, RefusesPlacesThatTheHostIsKnownNotToHave) {
  HostFacts facts = Facts();
  facts.places = {{"/srv/gone", PlaceKind::kMissing},
                  {"/srv/file", PlaceKind::kFile},
                  {"/srv/fifo", PlaceKind::kOther},
                  {"/srv/dir", PlaceKind::kDirectory}};
  const auto said = [&](const SandboxRequest& request) { return Compile(request, facts).status(); };
  for (const char* source : {"/srv/dir", "/srv/file", "/srv/unknown"}) {
    EXPECT_TRUE(said(WithMount(source, "/data")).ok()) << source;
  }
  EXPECT_EQ(said({.mounts = {{"/srv/dir", "/a"}, {"/srv/gone", "/b"}}}),
            NotFound("mounts[1].source: /srv/gone: does not exist on this host: no cell is made "
                     "here until it does"));
  EXPECT_EQ(said(WithMount("/srv/fifo", "/data")),
            InvalidArgument("mounts[0].source: /srv/fifo: is neither a directory nor a regular "
                            "file, and only these are allowed"));
  EXPECT_TRUE(said({.workspace = "/srv/dir"}).ok());
  EXPECT_EQ(
      said({.workspace = "/srv/gone"}),
      NotFound(
          "workspace: /srv/gone: does not exist on this host: no cell is made here until it does"));
  EXPECT_EQ(said({.workspace = "/srv/file"}),
            InvalidArgument("workspace: /srv/file: is no directory, and only one is allowed"));
  EXPECT_EQ(said({.executables_mode = ExecutablesMode::kExplicit, .executables = {"/srv/gone"}}),
            NotFound("executables[0]: /srv/gone: does not exist on this host: no cell is made here "
                     "until it does"));
}

TEST(CompileTest, RefusesSourcesThatExposeTheHost) {
  for (const std::string source : {"/", "/etc", "/proc/1", "/run/docker.sock", "/var/lib/odyssey",
                                   "/var/lib", "/home", "/root", "/sys"}) {
    const Status status = Bad(WithMount(source, "/d"));
    EXPECT_EQ(status.code(), Code::kPermissionDenied) << source;
    EXPECT_EQ(status.message().rfind("mounts[0].source: " + source, 0), 0u) << status.message();
  }
  EXPECT_EQ(Bad(WithMount("/usr/local/bin", "/d", policy::Access::kReadWrite)).code(),
            Code::kPermissionDenied);
  EXPECT_EQ(Bad(WithMount("relative", "/d")).code(), Code::kInvalidArgument);
  EXPECT_EQ(Bad({.workspace = "/etc"}).code(), Code::kPermissionDenied);
  EXPECT_EQ(Bad({.workspace = "."}).code(), Code::kInvalidArgument);
}

TEST(CompileTest, FillsInDefaultLimits) {
  const Compiled compiled = Good({.limits = {.pids = 64, .wall_clock_ms = 5000}});
  EXPECT_EQ(compiled.limits.memory_bytes, policy::kDefaultLimits.memory_bytes);
  EXPECT_EQ(compiled.limits.pids, 64u);
  EXPECT_EQ(compiled.limits.wall_clock_ms, 5000u);
  EXPECT_EQ(compiled.plan.pids, 64u);
  EXPECT_EQ(compiled.plan.memory_bytes, policy::kDefaultLimits.memory_bytes);
}

TEST(CompileTest, RefusesLimitsOutOfBoundsByName) {
  struct Case {
    policy::Limits limits;
    const char* field;
    Code code;
  };
  const Case cases[] = {
      {{.memory_bytes = kMinMemoryBytes - 1}, "limits.memory_bytes", Code::kInvalidArgument},
      {{.memory_bytes = uint64_t{65} << 30}, "limits.memory_bytes", Code::kPermissionDenied},
      {{.cpu_millis = kMinCpuMillis - 1}, "limits.cpu_millis", Code::kInvalidArgument},
      {{.cpu_millis = kMaxCpuMillis + 1}, "limits.cpu_millis", Code::kInvalidArgument},
      {{.pids = kMinPids - 1}, "limits.pids", Code::kInvalidArgument},
      {{.pids = 4097}, "limits.pids", Code::kPermissionDenied},
      {{.pids = kMaxPids + 1}, "limits.pids", Code::kInvalidArgument},
      {{.open_files = kMinOpenFiles - 1}, "limits.open_files", Code::kInvalidArgument},
      {{.open_files = kMaxOpenFiles + 1}, "limits.open_files", Code::kInvalidArgument},
      {{.tmp_bytes = 1}, "limits.tmp_bytes", Code::kInvalidArgument},
  };
  for (const Case& c : cases) {
    const Status status = Bad({.limits = c.limits});
    EXPECT_EQ(status.code(), c.code) << c.field;
    EXPECT_EQ(status.message().rfind(c.field, 0), 0u) << status.message();
  }
}

TEST(CompileTest, RefusesBadEnvironmentWithoutRepeatingValues) {
  const auto refused = [](const std::string& name, const std::string& value) {
    const Status status = Bad({.env = {{name, value}}});
    EXPECT_EQ(status.message().find("secret"), std::string::npos);
    return status.code() == Code::kInvalidArgument;
  };
  EXPECT_TRUE(refused("", "secret"));
  EXPECT_TRUE(refused("A=B", "secret"));
  EXPECT_TRUE(refused("1A", "secret"));
  EXPECT_TRUE(refused("A-B", "secret"));
  EXPECT_TRUE(refused("A", std::string("secret\0", 7)));
  EXPECT_TRUE(refused("A", std::string(kMaxEnvBytes, 'x')));
  EXPECT_FALSE(refused("LD_PRELOAD", "x.so"));
  EXPECT_FALSE(refused("_a1", ""));
}

TEST(CompileTest, DigestsEverythingButValuesOfTheEnvironment) {
  const SandboxRequest base = {.env = {{"A", "1"}}};
  const std::string digest = Good(base).digest;
  EXPECT_EQ(digest.size(), 64u);
  EXPECT_EQ(Good(base).digest, digest);
  EXPECT_EQ(Good({.env = {{"A", "2"}}}).digest, digest);

  const std::function<void(SandboxRequest*)> changes[] = {
      [](SandboxRequest* r) {
        r->env = {{"B", "1"}};
      },
      [](SandboxRequest* r) { r->mode = Mode::kReadOnly; },
      [](SandboxRequest* r) { r->network = Network::kFull; },
      [](SandboxRequest* r) { r->executables_mode = ExecutablesMode::kAll; },
      [](SandboxRequest* r) {
        r->mounts = {{"/srv/d", "/d", policy::Access::kReadOnly}};
      },
      [](SandboxRequest* r) { r->limits.wall_clock_ms = 7; },
      [](SandboxRequest* r) { r->limits.cpu_seconds = 7; },
      [](SandboxRequest* r) { r->limits.open_files = 77; },
      [](SandboxRequest* r) { r->limits.memory_bytes = uint64_t{1} << 28; },
      [](SandboxRequest* r) { r->workspace = "/srv/w"; },
      [](SandboxRequest* r) { r->ephemeral = true; },
  };
  std::vector<std::string> seen = {digest};
  for (const auto& change : changes) {
    SandboxRequest request = base;
    change(&request);
    const std::string changed = Good(request).digest;
    EXPECT_EQ(std::count(seen.begin(), seen.end(), changed), 0);
    seen.push_back(changed);
  }
}

TEST(CompileTest, IgnoresTheOrderOfMounts) {
  SandboxRequest request = WithMount("/srv/a", "/a");
  request.mounts.push_back({"/srv/b", "/b", policy::Access::kReadOnly});
  const std::string digest = Good(request).digest;
  std::swap(request.mounts[0], request.mounts[1]);
  EXPECT_EQ(Good(request).digest, digest);
}

TEST(CompileTest, RefusesMoreMountsThanAPlanHolds) {
  SandboxRequest request;
  for (uint32_t i = 0; i < plan::kMaxEntries; ++i) {
    const std::string name = std::to_string(i);
    request.mounts.push_back({"/srv/" + name, "/m/" + name, policy::Access::kReadOnly});
  }
  EXPECT_EQ(Bad(request).message().rfind("mounts: too many", 0), 0u);
}

TEST(CompileTest, SaysWhatWritableMountsTakeForProtectedNames) {
  SandboxRequest request;
  for (int i = 0; i < 30; ++i) {
    const std::string name = std::to_string(i);
    request.mounts.push_back({"/srv/" + name, "/m/" + name, policy::Access::kReadWrite});
  }
  const std::string message(Bad(request).message());
  EXPECT_EQ(message.rfind("mounts: too many", 0), 0u) << message;
  const size_t names = message.find(" of the entries for protected names");
  ASSERT_NE(names, message.npos) << message;
  const size_t before = message.rfind(' ', names - 1);
  EXPECT_GT(std::stoi(message.substr(before + 1)), 1500) << message;
  request.protection = policy::Protection::kNone;
  Good(request);
}

TEST(CompileTest, EndpointsThatEgressServes) {
  SandboxRequest request = {.network = Network::kEgress};
  const auto protocol = [&](egress::Protocol is) {
    request.egress.rules = {
        {.endpoints = {{.host = "a.example.com", .ports = {443}, .protocol = is}}}};
    return Compile(request, Facts()).status();
  };
  for (const auto is :
       {egress::Protocol::kL4, egress::Protocol::kRest, egress::Protocol::kWebSocket,
        egress::Protocol::kGraphQl, egress::Protocol::kJsonRpc}) {
    EXPECT_TRUE(protocol(is).ok()) << protocol(is).ToString();
  }
  EXPECT_EQ(protocol(egress::Protocol::kSql).code(), Code::kFailedPrecondition);
}

TEST(CompileTest, NeedsLandlockAndPrograms) {
  HostFacts facts = Facts();
  facts.landlock = {};
  EXPECT_EQ(Compile({}, facts).status().code(), Code::kFailedPrecondition);
  facts = Facts();
  facts.system.erase(facts.system.begin());
  EXPECT_EQ(Compile({}, facts).status().code(), Code::kFailedPrecondition);
}

}  // namespace
}  // namespace odyssey::compile
