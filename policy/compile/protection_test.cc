#include "policy/compile/protection.h"

#include <algorithm>
#include <fstream>
#include <span>

#include <gtest/gtest.h>

namespace odyssey::compile {
namespace {

using plan::Access;
using plan::Entry;
using plan::EntryKind;
using policy::Protection;
using policy::SandboxRequest;

HostFacts Facts() {
  return {.system = {{"/usr", ""}},
          .landlock = {landlock::Probe::kInForce, 6},
          .homes = {"/home/u", "/root"}};
}

SandboxRequest Writes(const std::string& source) {
  return {.mounts = {{source, "/d", policy::Access::kReadWrite}}};
}

Compiled Good(const SandboxRequest& request) {
  const Result<Compiled> compiled = Compile(request, Facts());
  EXPECT_TRUE(compiled.ok()) << compiled.status().ToString();
  return compiled.ok() ? *compiled : Compiled{};
}

// "ro", "rw", or "" where there is no part.
std::string PartAt(const Compiled& compiled, const std::string& target) {
  for (const Entry& entry : compiled.plan.entries) {
    if (entry.target != target || entry.kind != EntryKind::kPart) continue;
    return entry.access == Access::kReadOnly ? "ro" : "rw";
  }
  return "";
}

size_t Parts(const Compiled& compiled) {
  const auto& entries = compiled.plan.entries;
  return static_cast<size_t>(std::count_if(
      entries.begin(), entries.end(), [](const Entry& e) { return e.kind == EntryKind::kPart; }));
}

TEST(ProtectionTest, KeepsEveryNameOfTheTableInAWritableWorkspace) {
  const Compiled compiled = Good({.workspace = "/srv/w"});
  for (const ProtectedName& name : ProjectNames()) {
    EXPECT_EQ(PartAt(compiled, "/workspace/" + std::string(name.path)), "ro") << name.path;
  }
  EXPECT_EQ(PartAt(compiled, "/workspace/.bashrc"), "") << "not a home directory";
}

TEST(ProtectionTest, NeedsNothingWhereNothingOfTheHostIsWritable) {
  EXPECT_EQ(Parts(Good({})), 0u);
  EXPECT_EQ(Parts(Good({.mode = policy::Mode::kReadOnly, .workspace = "/srv/w"})), 0u);
  EXPECT_EQ(Parts(Good({.mounts = {{"/srv/d", "/d", policy::Access::kReadOnly}}})), 0u);
}

TEST(ProtectionTest, PinsEachDirectoryOnTheWayBeforeWhatIsInIt) {
  const Compiled compiled = Good({.workspace = "/srv/w", .protect = {"a/b/c"}});
  for (const std::string pin : {".git", ".yarn", ".cargo", "a", "a/b"}) {
    EXPECT_EQ(PartAt(compiled, "/workspace/" + pin), "rw") << pin;
  }
  EXPECT_EQ(PartAt(compiled, "/workspace/a/b/c"), "ro");
  std::vector<std::string> seen = {"/workspace"};
  for (const Entry& entry : compiled.plan.entries) {
    if (entry.kind != EntryKind::kPart) continue;
    const std::string parent = entry.target.substr(0, entry.target.rfind('/'));
    EXPECT_NE(std::find(seen.begin(), seen.end(), parent), seen.end()) << entry.target;
    seen.push_back(entry.target);
  }
}

TEST(ProtectionTest, LeavesOutWhatLiesInSomethingProtected) {
  const Compiled compiled =
      Good({.workspace = "/srv/w", .protect = {".git", ".vscode/tasks.json", "x", "x-y"}});
  EXPECT_EQ(PartAt(compiled, "/workspace/.git"), "ro");
  EXPECT_EQ(PartAt(compiled, "/workspace/.git/hooks"), "");
  EXPECT_EQ(PartAt(compiled, "/workspace/.vscode"), "ro");
  EXPECT_EQ(PartAt(compiled, "/workspace/.vscode/tasks.json"), "");
  EXPECT_EQ(PartAt(compiled, "/workspace/x-y"), "ro");
}

TEST(ProtectionTest, NoneKeepsOnlyWhatThePolicyNames) {
  const SandboxRequest request = {
      .workspace = "/srv/w", .protect = {"secret.txt"}, .protection = Protection::kNone};
  const Compiled compiled = Good(request);
  EXPECT_EQ(Parts(compiled), 1u);
  EXPECT_EQ(PartAt(compiled, "/workspace/secret.txt"), "ro");
}

TEST(ProtectionTest, ReachesOtherTreesThroughTheOneAroundThem) {
  SandboxRequest request = Writes("/srv");
  request.mounts.push_back({"/srv/team/lib", "/lib-repo", policy::Access::kReadWrite});
  const Compiled compiled = Good(request);
  EXPECT_EQ(PartAt(compiled, "/d/.git/hooks"), "ro");
  EXPECT_EQ(PartAt(compiled, "/d/team/lib/.git/hooks"), "ro");
  EXPECT_EQ(PartAt(compiled, "/d/team/lib"), "rw");
  EXPECT_EQ(PartAt(compiled, "/lib-repo/.git/hooks"), "ro");
}

TEST(ProtectionTest, KnowsARepositoryByItsDirectory) {
  for (const std::string source : {"/srv/repo/.git", "/srv/repo.git"}) {
    const Compiled compiled = Good(Writes(source));
    EXPECT_EQ(PartAt(compiled, "/d/hooks"), "ro") << source;
    EXPECT_EQ(PartAt(compiled, "/d/config"), "ro") << source;
  }
  EXPECT_EQ(PartAt(Good(Writes("/srv/repo")), "/d/hooks"), "");
}

TEST(ProtectionTest, KeepsMoreInHomeDirectories) {
  const Compiled home = Good(Writes("/home/u"));
  for (const ProtectedName& name : HomeNames()) {
    EXPECT_EQ(PartAt(home, "/d/" + std::string(name.path)), "ro") << name.path;
  }
  EXPECT_EQ(PartAt(home, "/d/.git/hooks"), "ro");
  EXPECT_EQ(PartAt(home, "/d/.config/systemd"), "ro");
  EXPECT_EQ(PartAt(Good(Writes("/home/u/.config")), "/d/systemd"), "ro");
  EXPECT_EQ(PartAt(Good(Writes("/home/u/project")), "/d/.bashrc"), "");
}

TEST(ProtectionTest, RefusesToMakeWhatIsProtectedWritable) {
  for (const std::string source :
       {"/srv/repo/.git/hooks", "/srv/repo/.git/hooks/pre-commit", "/srv/repo/.envrc",
        "/srv/repo.git/config", "/home/u/.ssh", "/home/u/.config/systemd/user"}) {
    const Status status = Compile(Writes(source), Facts()).status();
    EXPECT_EQ(status.code(), Code::kPermissionDenied) << source;
    EXPECT_EQ(status.message().rfind("mounts", 0), 0u) << status.message();
    EXPECT_NE(status.message().find(source + ": "), std::string::npos) << status.message();
    SandboxRequest request = Writes(source);
    request.protection = Protection::kNone;
    EXPECT_EQ(Compile(request, Facts()).status(), OkStatus()) << source;
    request = Writes(source);
    request.mounts[0].access = policy::Access::kReadOnly;
    EXPECT_EQ(Compile(request, Facts()).status(), OkStatus()) << source;
  }
  EXPECT_EQ(Compile({.workspace = "/srv/repo/.vscode"}, Facts())
                .status()
                .message()
                .rfind("workspace: /srv/repo/.vscode: ", 0),
            0u);
}

TEST(ProtectionTest, TakesTheWorkingTreesOfAgentsForWork) {
  const SandboxRequest request = {.workspace = "/srv/repo/.claude/worktrees/fix"};
  const Compiled compiled = Good(request);
  EXPECT_EQ(PartAt(compiled, "/workspace/.claude"), "ro");
  for (const std::string source : {"/srv/repo/.claude", "/srv/repo/.claude/worktrees",
                                   "/srv/repo/.claude/hooks/worktrees/x"}) {
    EXPECT_EQ(Compile({.workspace = source}, Facts()).status().code(), Code::kPermissionDenied)
        << source;
  }
}

TEST(ProtectionTest, GuardsTreesForDeniedNamesAlone) {
  const Compiled plain = Good({.workspace = "/srv/w"});
  EXPECT_TRUE(plain.confinement.guards.empty());
  EXPECT_FALSE(plain.plan.fuse_device);
  const Compiled compiled = Good({.workspace = "/srv/w", .deny = {"**/.env"}});
  ASSERT_EQ(compiled.confinement.guards.size(), 1u);
  EXPECT_EQ(compiled.confinement.guards[0], (cell::Guard{"/workspace", false, {"**/.env"}}));
  EXPECT_TRUE(compiled.plan.fuse_device);
}

TEST(ProtectionTest, RefusesPathsToProtectThatAreNone) {
  for (const std::string path : {"", "/abs", "a/../b", ".", "a//b", "a/", "a\nb"}) {
    const Status status =
        Compile({.workspace = "/srv/w", .protect = {"ok", path}}, Facts()).status();
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << path;
    EXPECT_EQ(status.message().rfind("protect[1]: ", 0), 0u) << status.message();
  }
  SandboxRequest many = {.workspace = "/srv/w"};
  many.protect.assign(kMaxProtect + 1, "x");
  EXPECT_EQ(Compile(many, Facts()).status().code(), Code::kInvalidArgument);
}

TEST(ProtectionTest, ExplainsWhatIsReadOnlyInATree) {
  const Compiled compiled = Good({.workspace = "/srv/w", .protect = {"notes"}});
  const auto& lines = compiled.explanation;
  const auto line = std::find_if(lines.begin(), lines.end(), [](const std::string& text) {
    return text.rfind("/workspace: read-only in it, where it exists:", 0) == 0;
  });
  ASSERT_NE(line, lines.end());
  EXPECT_NE(line->find(" .git/hooks"), std::string::npos);
  EXPECT_NE(line->find(" notes"), std::string::npos);
}

TEST(ProtectionTest, HoldsTwentyWritableDirectories) {
  SandboxRequest request;
  for (int i = 0; i < 20; ++i) {
    const std::string name = std::to_string(i);
    request.mounts.push_back({"/srv/" + name, "/d/" + name, policy::Access::kReadWrite});
  }
  EXPECT_EQ(Compile(request, Facts()).status(), OkStatus());
}

TEST(ProtectionTest, ReadsHomesFromTheUserDatabase) {
  EXPECT_EQ(HomeDirectories("root:x:0:0:root:/root:/bin/bash\n"
                            "daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n"
                            "u:x:1000:1000:U,,,:/home/u:/bin/bash\n"
                            "slash:x:1001:1001::/:/bin/sh\n"
                            "odd:x:1002:1002::home:/bin/sh\n"
                            "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
                            "broken\n"
                            "last:x:12345:1::/srv/last:"),
            (std::vector<std::string>{"/home/u", "/root", "/srv/last"}));
}

TEST(ProtectionTest, SaysWhatADirectWriteCanDo) {
  const auto line = [](const SandboxRequest& request) {
    const auto lines = Good(request).explanation;
    const auto found = std::find_if(lines.begin(), lines.end(), [](const std::string& text) {
      return text.rfind("/d: written directly: ", 0) == 0;
    });
    return found == lines.end() ? "" : *found;
  };
  SandboxRequest request = Writes("/srv/repo");
  EXPECT_NE(line(request).find("a socket"), std::string::npos) << line(request);
  request.deny = {"**/.env"};
  EXPECT_NE(line(request), "");
  EXPECT_EQ(line(request).find("a socket"), std::string::npos) << "the guard's are its own";
  request.mounts[0].access = policy::Access::kReadOnly;
  EXPECT_EQ(line(request), "");
}

// A row of the page has the names, one after another in the table, that have one reason.
std::vector<std::string> RowsOf(std::span<const ProtectedName> names) {
  std::vector<std::string> rows;
  for (auto first = names.begin(); first != names.end();) {
    const std::string same = "the same as " + std::string(first->path);
    std::string row;
    auto name = first;
    for (; name != names.end() && (name->why == first->why || name->why == same); ++name) {
      row += std::string(row.empty() ? "| `" : ", `") + std::string(name->path) + "`";
    }
    rows.push_back(row + " | " + std::string(first->why) + " |");
    first = name;
  }
  return rows;
}

// The page that operators read has the same names and no others, each with the same reason.
TEST(ProtectionTest, IsAsDocumented) {
  std::vector<std::string> expected = RowsOf(ProjectNames());
  for (std::string& row : RowsOf(HomeNames())) expected.push_back(std::move(row));
  // The tables of names are the first ones of two columns.
  std::vector<std::string> documented;
  std::ifstream file(ODYSSEY_MOUNTS_PAGE);
  for (std::string line; documented.size() < expected.size() && std::getline(file, line);) {
    if (line.rfind("| `", 0) == 0 && std::count(line.begin(), line.end(), '|') == 3) {
      documented.push_back(line);
    }
  }
  EXPECT_EQ(documented, expected);
}

}  // namespace
}  // namespace odyssey::compile
