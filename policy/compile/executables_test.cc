#include "policy/compile/executables.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "policy/compile/compile_fixture.h"

namespace odyssey::compile {
namespace {

using plan::Access;
using plan::Entry;
using plan::EntryKind;
using policy::ExecutablesMode;
using policy::Mode;
using policy::SandboxRequest;

HostFacts Facts() {
  HostFacts facts;
  facts.system = {{"/usr", ""}, {"/opt", ""}, {"/bin", "usr/bin"}, {"/lib64", "usr/lib64"}};
  facts.landlock = {landlock::Probe::kInForce, 6};
  facts.check.own_directories = {"/var/lib/odyssey"};
  facts.check.bundle_store = "/var/lib/odyssey/agentd/bundles";
  return facts;
}

FoundExecutables Git() {
  return {.files = {{"/usr/bin/git", true, "named git"},
                    {"/usr/lib/git-core", true, "git's own commands, of /usr/bin/git"},
                    {"/usr/lib64/ld.so", true, "interpreter of /usr/bin/git"},
                    {"/usr/lib64/libz.so.1", false, "library of /usr/bin/git"}},
          .notes = {"libx.so: missing: a library of /usr/bin/git"},
          .identity = "one"};
}

SandboxRequest Explicit(std::vector<std::string> executables = {"git"}) {
  return {.executables_mode = ExecutablesMode::kExplicit, .executables = std::move(executables)};
}

Compiled Good(const SandboxRequest& request, const FoundExecutables& found = Git()) {
  return ExpectCompiles(request, Facts(), found);
}

Status Bad(const SandboxRequest& request, const FoundExecutables& found = Git()) {
  return Compile(request, Facts(), found).status();
}

bool MayExecute(const Compiled& compiled, const std::string& path) {
  return std::any_of(compiled.confinement.rules.begin(), compiled.confinement.rules.end(),
                     [&](const cell::LandlockRule& rule) {
                       return plan::IsWithin(path, rule.path) &&
                              (rule.rights & cell::kExecute) != 0;
                     });
}

TEST(ExecutablesTest, ExplicitModeExecutesWhatIsNamedAndNothingElse) {
  const Compiled compiled = Good(Explicit());
  for (const std::string path :
       {"/usr/bin/git", "/usr/lib/git-core/git-http", "/usr/lib64/ld.so"}) {
    EXPECT_TRUE(MayExecute(compiled, path)) << path;
  }
  for (const std::string path : {"/usr/bin/ls", "/usr/lib64/libz.so.1", "/opt/x", "/workspace/x",
                                 "/tmp/x", "/cell/tmp/x", "/dev/shm/x", "/.odyssey/cell-init"}) {
    EXPECT_FALSE(MayExecute(compiled, path)) << path;
  }
}

// Without that the loader, which may be executed, would map any program as its own.
TEST(ExecutablesTest, ExplicitModeMapsNothingElseAsCode) {
  const Compiled compiled = Good(Explicit());
  const std::vector<std::string> open = {"/usr/bin/git", "/usr/lib/git-core", "/usr/lib64/ld.so",
                                         "/usr/lib64/libz.so.1"};
  for (const Entry& entry : compiled.plan.entries) {
    const bool is_open = std::find(open.begin(), open.end(), entry.target) != open.end();
    EXPECT_EQ(entry.executable, is_open) << entry.target;
    EXPECT_EQ(entry.kind == EntryKind::kPart, is_open) << entry.target;
  }
  EXPECT_EQ(Find(compiled, "/usr")->kind, EntryKind::kHostTree);
}

TEST(ExecutablesTest, ExplicitModeWithNothingNamedExecutesNothing) {
  const Compiled compiled = Good(Explicit({}), {});
  for (const Entry& entry : compiled.plan.entries) EXPECT_FALSE(entry.executable) << entry.target;
  EXPECT_FALSE(MayExecute(compiled, "/usr/bin/sh"));
}

TEST(ExecutablesTest, IsExplainedLineByLine) {
  const Compiled compiled = Good(Explicit());
  for (const std::string line :
       {"executables explicit: only the programs below, with what they load",
        "/usr: the host's, read-only, noexec", "/usr/bin/git: executable: named git",
        "/usr/lib64/libz.so.1: loadable: library of /usr/bin/git",
        "libx.so: missing: a library of /usr/bin/git"}) {
    const auto& lines = compiled.explanation;
    EXPECT_NE(std::find(lines.begin(), lines.end(), line), lines.end()) << line;
  }
}

TEST(ExecutablesTest, AnotherFileInTheSamePlaceIsAnotherPolicy) {
  FoundExecutables replaced = Git();
  replaced.identity = "two";
  EXPECT_NE(Good(Explicit()).digest, Good(Explicit(), replaced).digest);
}

TEST(ExecutablesTest, ASystemTreeThatIsLeftOutHasNoPrograms) {
  HostFacts facts = Facts();
  facts.check.own_directories.push_back("/opt/odyssey");
  const FoundExecutables found = {.files = {{"/opt/tool", true, "named /opt/tool"}}};
  const Status status = Compile(Explicit({"/opt/tool"}), facts, found).status();
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_NE(status.message().find("/opt/tool"), std::string::npos);
}

TEST(ExecutablesTest, RefusesEntriesThatAreNeitherNamesNorPaths) {
  for (const std::string entry :
       {"", ".", "..", "a/b", "./a", "/", "/a/../b", "/usr/bin/", "a\nb"}) {
    const Status status = Bad(Explicit({"git", entry}));
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << entry;
    EXPECT_EQ(status.message().rfind("executables[1]: '" + entry + "'", 0), 0u) << status.message();
  }
  EXPECT_EQ(Bad(Explicit(std::vector<std::string>(kMaxExecutables + 1, "git"))).code(),
            Code::kInvalidArgument);
}

TEST(ExecutablesTest, MemoryIsKeptUnlessAProgramCompiles) {
  EXPECT_TRUE(Good(Explicit()).confinement.denies_write_exec);
  FoundExecutables node = Git();
  node.compilers = {"/usr/bin/node"};
  EXPECT_FALSE(Good(Explicit(), node).confinement.denies_write_exec);
  EXPECT_FALSE(Good(Explicit({"git", "/srv/tool"})).confinement.denies_write_exec) << "it may";
  SandboxRequest standard = Explicit();
  standard.executables_mode = ExecutablesMode::kStandard;
  EXPECT_FALSE(Good(standard).confinement.denies_write_exec);
}

// What is named has to be there in every mode; the system's trees have the rest.
TEST(ExecutablesTest, InTheOtherModesOnlyWhatLiesElsewhereIsAdded) {
  for (const auto mode : {ExecutablesMode::kStandard, ExecutablesMode::kAll}) {
    SandboxRequest request = Explicit({"git", "/srv/tool"});
    request.executables_mode = mode;
    EXPECT_EQ(SystemExecutables(request), std::vector<std::string>{"git"});
    EXPECT_EQ(Bad(request, {}).code(), Code::kInternal) << "the host was not searched";
    const Compiled compiled = Good(request);
    EXPECT_EQ(Find(compiled, "/usr/bin/git"), nullptr);
    ASSERT_NE(Find(compiled, "/srv/tool"), nullptr);
    FoundExecutables replaced = Git();
    replaced.identity = "two";
    EXPECT_EQ(compiled.digest, Good(request, replaced).digest);
  }
}

TEST(ExecutablesTest, AWholeReadOnlyWorkspaceOrMountMayBeNamed) {
  for (const auto mode : {ExecutablesMode::kExplicit, ExecutablesMode::kStandard}) {
    SandboxRequest request = Explicit({"/workspace", "/d"});
    request.executables_mode = mode;
    request.mode = Mode::kReadOnly;
    request.workspace = "/srv/w";
    request.mounts = {{"/srv/d", "/d", policy::Access::kReadOnly}};
    const Compiled compiled = Good(request);
    for (const std::string path : {"/workspace", "/d"}) {
      EXPECT_TRUE(Find(compiled, path)->executable) << path;
      EXPECT_TRUE(MayExecute(compiled, path)) << path;
    }
  }
}

TEST(ExecutablesTest, TooManyFilesAreAnErrorOfExecutables) {
  FoundExecutables found;
  for (uint32_t i = 0; i < plan::kMaxEntries; ++i) {
    found.files.push_back({"/usr/bin/" + std::to_string(i), true, "named"});
  }
  const Status status = Bad(Explicit(), found);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message().rfind("executables: too many", 0), 0u) << status.message();
}

TEST(ExecutablesTest, ASearchThatWasNotMadeIsNotTakenForAnEmptyOne) {
  EXPECT_EQ(Bad(Explicit(), {}).code(), Code::kInternal);
  EXPECT_EQ(SystemExecutables(Explicit({"git", "/opt/x", "/srv/x", "bad/name"})),
            (std::vector<std::string>{"git", "/opt/x"}));
}

TEST(ExecutablesTest, AFileOfAReadOnlyWorkspaceOrMountMayBeNamed) {
  SandboxRequest request = Explicit({"git", "/workspace/run.sh", "/d/tool"});
  request.mode = Mode::kReadOnly;
  request.workspace = "/srv/w";
  request.mounts = {{"/srv/d", "/d", policy::Access::kReadOnly}};
  const Compiled compiled = Good(request);
  for (const std::string path : {"/workspace/run.sh", "/d/tool"}) {
    ASSERT_NE(Find(compiled, path), nullptr) << path;
    EXPECT_EQ(Find(compiled, path)->kind, EntryKind::kPart);
    EXPECT_TRUE(MayExecute(compiled, path));
  }
  EXPECT_FALSE(Find(compiled, "/workspace")->executable);
  EXPECT_FALSE(MayExecute(compiled, "/workspace/other"));
  EXPECT_FALSE(MayExecute(compiled, "/d/other"));
}

TEST(ExecutablesTest, APathThatNothingShowsIsMounted) {
  const Compiled compiled = Good(Explicit({"git", "/srv/tool"}));
  const Entry* tool = Find(compiled, "/srv/tool");
  ASSERT_NE(tool, nullptr);
  EXPECT_EQ(tool->kind, EntryKind::kHostTree);
  EXPECT_EQ(tool->access, Access::kReadOnly);
  EXPECT_TRUE(tool->executable);
  EXPECT_TRUE(MayExecute(compiled, "/srv/tool"));
  EXPECT_EQ(Find(Good(Explicit({"git", "/tmp/tool"})), "/tmp/tool")->source, "/tmp/tool");
  for (const std::string path : {"/etc/shadow", "/var/lib/odyssey/x", "/proc/self/exe", "/run/x"}) {
    const Status status = Bad(Explicit({"git", path}));
    EXPECT_FALSE(status.ok()) << path;
    EXPECT_EQ(status.message().rfind("executables[1]: ", 0), 0u) << status.message();
  }
  SandboxRequest request = Explicit({"git", "/srv"});
  request.mounts = {{"/home/u/p", "/srv/p", policy::Access::kReadOnly}};
  EXPECT_EQ(Bad(request).code(), Code::kInvalidArgument);
}

// Whatever the agent can write becomes a program of its own choice.
TEST(ExecutablesTest, WhatIsWritableIsNotExecuted) {
  for (const std::string path : {"/workspace/x", "/cell/data/x", "/d/x"}) {
    SandboxRequest request = Explicit({"git", path});
    request.mounts = {{"/srv/d", "/d", policy::Access::kReadWrite}};
    const Status status = Bad(request);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << path;
    EXPECT_EQ(status.message().rfind("executables", 0), 0u) << status.message();
  }
}

TEST(ExecutablesTest, NoOtherPathMakesAProgramWritable) {
  const auto writable = [](const std::string& source, SandboxRequest request) {
    request.mounts.push_back({source, "/w", policy::Access::kReadWrite});
    return request;
  };
  const FoundExecutables found = {.files = {{"/opt/a/tool", true, "named"}}};
  const SandboxRequest opt = Explicit({"/opt/a/tool"});
  for (const std::string source : {"/opt", "/opt/a", "/opt/a/tool"}) {
    EXPECT_EQ(Bad(writable(source, opt), found).code(), Code::kInvalidArgument) << source;
  }
  EXPECT_TRUE(Compile(writable("/opt/b", opt), Facts(), found).ok());

  SandboxRequest mount = {.mounts = {{"/srv/d", "/d", policy::Access::kReadOnly, true}}};
  EXPECT_EQ(Bad(writable("/srv/d/sub", mount), {}).code(), Code::kInvalidArgument);
  mount.workspace = "/srv";
  EXPECT_EQ(Bad(mount, {}).code(), Code::kInvalidArgument);
  mount.mode = Mode::kReadOnly;
  EXPECT_TRUE(Compile(mount, Facts()).ok());

  SandboxRequest part = Explicit({"git", "/d/tool"});
  part.mounts = {{"/srv/d", "/d", policy::Access::kReadOnly}};
  EXPECT_EQ(Bad(writable("/srv/d", part)).code(), Code::kInvalidArgument);
}

TEST(ExecutablesTest, AMountMayBeOfPrograms) {
  for (const ExecutablesMode mode : {ExecutablesMode::kExplicit, ExecutablesMode::kStandard}) {
    const SandboxRequest request = {.executables_mode = mode,
                                    .mounts = {{"/srv/a", "/a", policy::Access::kReadOnly, true},
                                               {"/srv/b", "/b", policy::Access::kReadOnly, false}}};
    const Compiled compiled = Good(request, {});
    EXPECT_TRUE(Find(compiled, "/a")->executable);
    EXPECT_TRUE(MayExecute(compiled, "/a/x"));
    EXPECT_FALSE(Find(compiled, "/b")->executable);
    EXPECT_FALSE(MayExecute(compiled, "/b/x"));
  }
}

TEST(ExecutablesTest, OnlyAReadOnlyMountMayBeOfPrograms) {
  SandboxRequest request = {.mounts = {{"/srv/a", "/a", policy::Access::kReadWrite, true}}};
  EXPECT_EQ(Bad(request, {}).message(), "mounts[0].executable: only with ACCESS_READ_ONLY");
  request.mounts = {{"/srv/a", "/a", policy::Access::kReadOnly, true},
                    {"/srv/a", "/a", policy::Access::kReadWrite, false}};
  EXPECT_EQ(Bad(request, {}).code(), Code::kInvalidArgument);
}

// Programs in a part that stays read-only, and a writable part of a directory of programs.
TEST(ExecutablesTest, PartsKeepProgramsAndWhatIsWrittenApart) {
  const policy::Access ro = policy::Access::kReadOnly, rw = policy::Access::kReadWrite;
  const SandboxRequest programs_inside = {
      .mounts = {{"/srv/d", "/d", rw}, {"/srv/d/bin", "/d/bin", ro, true}}};
  EXPECT_TRUE(Find(ExpectCompiles(programs_inside, Facts()), "/d/bin")->executable);
  const SandboxRequest written_inside = {
      .mounts = {{"/srv/d", "/d", ro, true}, {"/srv/d/out", "/d/out", rw}}};
  EXPECT_FALSE(Find(ExpectCompiles(written_inside, Facts()), "/d/out")->executable);
  SandboxRequest elsewhere = programs_inside;
  elsewhere.mounts[1].target = "/bin-of-d";
  EXPECT_FALSE(Compile(elsewhere, Facts()).ok()) << "writable as /d/bin";
  elsewhere = written_inside;
  elsewhere.mounts[1].target = "/out";
  EXPECT_FALSE(Compile(elsewhere, Facts()).ok()) << "executable as /d/out";
}

}  // namespace
}  // namespace odyssey::compile
