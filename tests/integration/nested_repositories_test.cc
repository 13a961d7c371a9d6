// Repositories inside a directory that a cell may write to: those that are there when the cell
// starts are kept as that of the directory itself is, whatever the policy names.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "tests/integration/git_fixture.h"

namespace odyssey::testing {
namespace {

namespace fs = std::filesystem;

class NestedRepositoriesTest : public GitFixture {
 protected:
  // A repository with a commit, as the host's user has one.
  void Make(const std::string& directory) {
    ASSERT_EQ(Host("git init -q -b main " + directory + " && cd " + directory +
                   " && echo one > file && git add . && git commit -q -m first"),
              0);
  }
  void File(const std::string& path) {
    fs::create_directories((workspace_ / path).parent_path());
    std::ofstream(workspace_ / path) << "of the host\n";
  }
  // Directories enough that a search does not get through them.
  void Fill(const std::string& directory) {
    for (int i = 0; i < 1100; ++i) {
      fs::create_directories(workspace_ / directory / std::to_string(i));
    }
  }
};

// Each way of GitGuardTest in short: their judge is the same.
TEST_F(NestedRepositoriesTest, ARepositoryInsideIsKeptAsTheOuterOneIs) {
  Make("vendor/lib");
  const std::string cell = supervisor_.Cell(Request());
  EXPECT_EQ(Says(cell, "/workspace/vendor/lib/.git: guarded"), 1u);
  ASSERT_TRUE(supervisor_.Shell(cell, Evil("evil") + Evil("vendor/lib")).Exited(0));
  const Findings findings = Probe(&supervisor_, cell, R"(
git = 'vendor/lib/.git'
open(git + '/x', 'w').write('garbage\n'); os.mkdir(git + '/d')
for name in ['config', 'commondir', 'config.worktree.lock', 'hooks/pre-commit', 'HEAD', 'modules/m/config']:
    path = git + '/' + name
    if name.startswith('modules'): os.makedirs(git + '/modules/m')
    attempt(name + ':write', lambda: os.open(path, os.O_CREAT | os.O_WRONLY))
    attempt(name + ':replace', lambda: os.rename(git + '/x', path))
    attempt(name + ':symlink', lambda: os.symlink('../../../evil', path) if not os.path.lexists(path) else os.unlink(path))
for name in ['hooks', 'objects', 'refs']:
    attempt(name + ':aside', lambda: os.rename(git + '/' + name, git + '/aside'))
    attempt(name + ':replace', lambda: os.rename(git + '/d', git + '/' + name))
    attempt(name + ':chmod', lambda: os.chmod(git + '/' + name, 0))
for path in [git, 'vendor/lib', 'vendor']:
    other = path + '.other'; os.mkdir(other)
    attempt(path + ':aside', lambda: os.rename(path, path + '.aside'))
    attempt(path + ':replace', lambda: os.rename(other, path))
    attempt(path + ':exchange', lambda: call(316, -100, other.encode(), -100, path.encode(), 2))
    attempt(path + ':rmdir', lambda: os.rmdir(path))
attempt('link', lambda: os.symlink('/etc/passwd', git + '/FETCH_HEAD'))
)");
  ExpectAll(findings, kRefusals, 6 * 3 + 3 * 3 + 3 * 4 + 1);
  (void)supervisor_.Shell(cell,
                          "cd vendor/lib; mv .git aside; mv hooks .git/; cp config .git/; "
                          "rm -rf .git/HEAD .git/hooks .git/config; echo ../evil > "
                          ".git/commondir; cd ..; mv lib aside; cd ..; mv vendor aside");
  ExpectHostUntouched("the one inside", "vendor/lib");
  ExpectHostUntouched("the outer one");
}

TEST_F(NestedRepositoriesTest, WhatTheHostObeysInItsProjectIsKeptToo) {
  Make("vendor/lib");
  for (const char* name : {".envrc", ".vscode/tasks.json", ".cargo/config"}) {
    File("vendor/lib/" + std::string(name));
  }
  const std::string cell = supervisor_.Cell(Request());
  const Findings findings = Probe(&supervisor_, cell, R"(
for path in ['.envrc', '.vscode/tasks.json', '.cargo/config']:
    attempt(path, lambda: os.open('vendor/lib/' + path, os.O_WRONLY))
    attempt(path + ':remove', lambda: os.unlink('vendor/lib/' + path))
for path in ['.envrc', '.vscode', '.cargo']:
    attempt(path + ':aside', lambda: os.rename('vendor/lib/' + path, 'vendor/lib/aside'))
attempt('new', lambda: os.open('vendor/lib/.vscode/new', os.O_CREAT | os.O_WRONLY))
)");
  ExpectAll(findings, kRefusals, 10);
}

TEST_F(NestedRepositoriesTest, SoIsWhatItObeysInAnyDirectory) {
  for (const char* path :
       {"packages/b/.vscode/tasks.json", "packages/b/src/leaf/.envrc", "packages/c/.cargo/config",
        "packages/c/node_modules/d/.npmrc", "packages/c/node_modules/d/.envrc"}) {
    File(path);
  }
  const std::string cell = supervisor_.Cell(Request());
  EXPECT_EQ(Says(cell, "/workspace/packages/b/.vscode: read-only: programs of the host obey"), 1u);
  EXPECT_EQ(Says(cell, "/workspace/packages/b/src/leaf/.envrc: read-only"), 1u);
  EXPECT_EQ(Says(cell, "/workspace/packages/c/node_modules/d/.npmrc"), 0u);
  ExpectAll(Probe(&supervisor_, cell, R"(
for path in ['b/.vscode/tasks.json', 'b/src/leaf/.envrc', 'c/.cargo/config']:
    attempt(path, lambda: os.open('packages/' + path, os.O_WRONLY))
    attempt(path + ':remove', lambda: os.unlink('packages/' + path))
for path in ['b/.vscode', 'b/src/leaf', 'b/src', 'b', 'c/.cargo', 'c', '.']:
    whole = os.path.normpath('packages/' + path)
    attempt(path + ':aside', lambda: os.rename(whole, whole + '.aside'))
attempt('new', lambda: os.open('packages/b/.vscode/new', os.O_CREAT | os.O_WRONLY))
)"),
            kRefusals, 14);
  EXPECT_TRUE(supervisor_
                  .Shell(cell,
                         "cd packages && echo > b/src/leaf/x && echo > c/.cargo/registry && "
                         "echo > c/node_modules/d/.npmrc && rm -r c/node_modules")
                  .Exited(0));
  const ExecResult refused = supervisor_.Shell(cell, "echo > packages/b/src/leaf/.envrc");
  ASSERT_EQ(refused.denials.size(), 1u) << refused.ToString();
  EXPECT_EQ(refused.denials[0].rule(),
            "policy protection /workspace/packages/b/src/leaf/.envrc read_only");
}

TEST_F(NestedRepositoriesTest, OfDirectoriesWithSuchNamesThoseBeyondTheBoundAreSaid) {
  for (int i = 0; i < 70; ++i) File("packages/" + std::to_string(i) + "/.envrc");
  const std::string cell = supervisor_.Cell(Request());
  EXPECT_EQ(Says(cell, "/workspace/packages/"), 64u);
  EXPECT_EQ(Says(cell, "/workspace: NOT searched as a whole"), 1u);
}

TEST_F(NestedRepositoriesTest, ASubmoduleAndALinkedWorkingTreeLeadWhereTheyLed) {
  const std::string origin = supervisor_.directory() + "/origin";
  ASSERT_EQ(Host("git clone -q . " + origin), 0);
  ASSERT_EQ(Host("git -c protocol.file.allow=always submodule --quiet add " + origin +
                 " third/party 2> /dev/null && git commit -q -m sub && "
                 "git worktree add -q trees/w 2> /dev/null"),
            0);
  const std::string cell = supervisor_.Cell(Request());
  ASSERT_TRUE(supervisor_.Shell(cell, Evil("evil")).Exited(0));
  const Findings findings = Probe(&supervisor_, cell, R"(
for tree in ['third/party', 'trees/w']:
    git = tree + '/.git'
    attempt(tree + ':write', lambda: os.open(git, os.O_WRONLY))
    attempt(tree + ':remove', lambda: os.unlink(git))
    open(tree + '/lead', 'w').write('gitdir: /workspace/evil\n')
    attempt(tree + ':replace', lambda: os.rename(tree + '/lead', git))
    os.unlink(tree + '/lead')
    attempt(tree + ':aside', lambda: os.rename(tree, tree + '.aside'))
    attempt(tree + ':above', lambda: os.rename(os.path.dirname(tree), 'aside'))
attempt('config', lambda: os.open('.git/modules/third/party/config', os.O_WRONLY))
)");
  ExpectAll(findings, kRefusals, 11);
  const ExecResult work = supervisor_.Shell(
      cell, std::string(kIdentity) +
                "cd third/party && echo x > x && git add x && git commit -q -m cell && git log -1 "
                "--format=%s");
  EXPECT_EQ(work.out, "cell\n") << work.ToString();
  const ExecResult update = supervisor_.Shell(
      cell, "git submodule --quiet update && git -C third/party log -1 --format=%s");
  EXPECT_EQ(update.out, "first\n") << update.ToString();
  for (const std::string tree : {"third/party", "trees/w"}) {
    EXPECT_EQ(Host("cd " + tree +
                   " && git status > /dev/null && "
                   "test \"$(git rev-parse --show-toplevel)\" = " +
                   (workspace_ / tree).string()),
              0);
  }
  EXPECT_EQ(Host("git status > /dev/null"), 0);
  EXPECT_FALSE(fs::exists(marker_));
}

TEST_F(NestedRepositoriesTest, OnesWithoutAWorkingTreeAreKnownByWhatIsInThem) {
  ASSERT_EQ(Host("git clone -q --bare . mirrors/one && git clone -q --bare . ../bare"), 0);
  auto request = Request();
  policy::v1::Mount* mount = request.mutable_sandbox()->add_mounts();
  mount->set_source(supervisor_.directory() + "/bare");
  mount->set_target("/bare");
  mount->set_access(policy::v1::ACCESS_READ_WRITE);
  const std::string cell = supervisor_.Cell(request);
  const Findings findings = Probe(&supervisor_, cell, R"(
for bare in ['/workspace/mirrors/one', '/bare']:
    for name in ['config', 'commondir', 'hooks/post-update', 'config.worktree']:
        attempt(bare + name, lambda: os.open(bare + '/' + name, os.O_CREAT | os.O_WRONLY))
    attempt(bare + ':head', lambda: os.unlink(bare + '/HEAD'))
    attempt(bare + ':hooks', lambda: os.rename(bare + '/hooks', bare + '/aside'))
attempt('aside', lambda: os.rename('mirrors/one', 'mirrors/aside'))
)");
  ExpectAll(findings, kRefusals, 13);
  const ExecResult push = supervisor_.Shell(
      cell,
      std::string(kIdentity) +
          "set -e; cd /tmp; for bare in /bare /workspace/mirrors/one; do git clone -q $bare c; "
          "cd c; git commit -q --allow-empty -m cell; git push -q; cd ..; rm -rf c; git -C "
          "$bare log -1 --format=%s; done");
  EXPECT_EQ(push.out, "cell\ncell\n") << push.ToString();
}

// A repository around others: their guard is its own.
TEST_F(NestedRepositoriesTest, InATreeThatIsARepositoryItselfTheOthersAreGuardedWithIt) {
  const std::string bare = supervisor_.directory() + "/bare";
  ASSERT_EQ(Host("git clone -q --bare . " + bare + " && git -C " + bare +
                 " worktree add -q main-tree main 2> /dev/null && git init -q " + bare + "/other"),
            0);
  auto request = SupervisorHarness::Request("around");
  request.set_workspace(bare);
  const std::string cell = supervisor_.Cell(request);
  EXPECT_EQ(Guards(), 1u);
  ExpectAll(Probe(&supervisor_, cell, R"(
for path in ['config', 'hooks/new', 'other/.git/config', 'other/.git/hooks/new', 'main-tree/.git']:
    attempt(path, lambda: os.open(path, os.O_CREAT | os.O_WRONLY))
attempt('aside', lambda: os.rename('other', 'aside'))
)"),
            kRefusals, 6);
  const ExecResult work =
      supervisor_.Shell(cell, std::string(kIdentity) +
                                  "git --git-dir=. log -1 --format=%s && cd other && git commit -q "
                                  "--allow-empty -m cell && git log --format=%s");
  EXPECT_EQ(work.out, "first\ncell\n") << work.ToString();
}

TEST_F(NestedRepositoriesTest, OneProcessGuardsAllAndGitWorksInThem) {
  std::string names;
  for (int i = 0; i < 6; ++i) {
    names += " team/r" + std::to_string(i);
    Make("team/r" + std::to_string(i));
  }
  ASSERT_EQ(Host("chown -R 5000:5000 ."), 0);
  const std::string cell = supervisor_.Cell(Request());
  EXPECT_EQ(Guards(), 1u);
  const ExecResult work = supervisor_.Shell(cell, kIdentity + std::string(R"sh(
work() {
  cd /workspace/$1 || exit 1
  for i in $(seq 60); do echo $i > f$i; done
  git add . && git commit -q -m cell && git checkout -q -b side && echo two >> file &&
  git stash -q && git stash pop -q && git commit -q -a -m second && git checkout -q main &&
  git merge -q side && git rebase -q HEAD~1 && git gc -q && git fsck --strict --no-dangling &&
  test -z "$(git status --short)"
}
for r in)sh") + names + R"sh(; do work $r & pids="$pids $!"; done
for p in $pids; do wait $p || exit 2; done
)sh");
  EXPECT_TRUE(work.Exited(0)) << work.ToString();
  for (int i = 0; i < 6; ++i) {
    EXPECT_EQ(Host("cd team/r" + std::to_string(i) +
                   " && git fsck --strict --no-dangling && test $(git rev-list --count HEAD) = 3 "
                   "&& test -z \"$(find . ! -user 5000)\""),
              0);
  }
}

TEST_F(NestedRepositoriesTest, DeniedNamesAreRefusedByTheSameGuard) {
  Make("vendor/lib");
  File("vendor/lib/.env");
  File("packages/b/.envrc");
  auto request = Request();
  request.mutable_sandbox()->add_deny("**/.env");
  const std::string cell = supervisor_.Cell(request);
  EXPECT_EQ(Guards(), 1u);
  ExpectAll(Probe(&supervisor_, cell, R"(
attempt('denied', lambda: os.open('vendor/lib/.env', os.O_RDONLY))
attempt('config', lambda: os.open('vendor/lib/.git/config', os.O_WRONLY))
attempt('hook', lambda: os.open('vendor/lib/.git/hooks/new', os.O_CREAT | os.O_WRONLY))
attempt('made', lambda: os.open('vendor/lib/.git/commondir', os.O_CREAT | os.O_WRONLY))
attempt('head', lambda: os.unlink('vendor/lib/.git/HEAD'))
attempt('aside', lambda: os.rename('vendor/lib', 'vendor/aside'))
attempt('name', lambda: os.open('packages/b/.envrc', os.O_WRONLY))
)"),
            kRefusals, 7);
  const ExecResult commit = supervisor_.Shell(
      cell, std::string(kIdentity) + "cd vendor/lib && git commit -q --allow-empty -m cell");
  EXPECT_TRUE(commit.Exited(0)) << commit.ToString();
  ExpectHostUntouched("denied", "vendor/lib");
}

TEST_F(NestedRepositoriesTest, WhatItDoesNotFollowOrFindItSays) {
  Make("real");
  fs::create_directories(workspace_ / "leads/d");
  fs::create_directory_symlink("../real/.git", workspace_ / "leads/.git");
  Make("many/1/x/late");
  Fill("many");
  const std::string cell = supervisor_.Cell(Request());
  EXPECT_EQ(Says(cell, "/workspace/leads/.git: NOT protected"), 1u);
  EXPECT_EQ(Says(cell, "/workspace/real/.git: guarded"), 1u);
  EXPECT_EQ(Says(cell, "/workspace: NOT searched as a whole"), 1u);
  EXPECT_EQ(Says(cell, "/workspace/many/1/x/late/.git"), 0u);
  EXPECT_TRUE(supervisor_.Shell(cell, "echo >> many/1/x/late/.git/config").Exited(0));

  auto request = Request();
  request.mutable_sandbox()->add_protect("many/1/x/late/.git/config");
  const std::string named = supervisor_.Cell(request);
  ExpectAll(Probe(&supervisor_, named, R"(
git = 'many/1/x/late/.git'
attempt('config', lambda: os.open(git + '/config', os.O_WRONLY))
attempt('made', lambda: os.open(git + '/commondir', os.O_CREAT | os.O_WRONLY))
attempt('hooks', lambda: os.rename(git + '/hooks', git + '/aside'))
attempt('aside', lambda: os.rename('many/1', 'many/aside'))
)"),
            kRefusals, 4);
}

TEST_F(NestedRepositoriesTest, CostsTheSameHoweverManyFilesThereAre) {
  Make("lib");
  const auto cost = [&] {
    const std::string cell = supervisor_.Cell(Request());
    const std::string mounts = supervisor_.Shell(cell, "grep -c . /proc/self/mountinfo").out;
    EXPECT_EQ(Says(cell, "/workspace/lib/.git: guarded"), 1u);
    EXPECT_TRUE(supervisor_.Remove(cell).ok());
    return mounts;
  };
  const std::string few = cost();
  Fill("many");
  EXPECT_EQ(cost(), few);
}

TEST_F(NestedRepositoriesTest, WithoutProtectionNothingIsLookedFor) {
  Make("lib");
  GrantNoProtection(supervisor_);
  auto request = Request();
  request.mutable_sandbox()->set_protection(policy::v1::PROTECTION_NONE);
  const std::string cell = supervisor_.Cell(request);
  EXPECT_EQ(Guards(), 0u);
  EXPECT_TRUE(supervisor_.Shell(cell, "echo >> lib/.git/config; mv lib aside").Exited(0));
}

// What the page of the documentation says is not covered, and what helps.
TEST_F(NestedRepositoriesTest, WhatTheCellMadeIsItsOwnAndTheNextCellNamesIt) {
  const std::string cell = supervisor_.Cell(Request());
  ASSERT_TRUE(supervisor_.Shell(cell, Evil("evil") + "git init -q made").Exited(0));
  EXPECT_NE(Host("git -c safe.bareRepository=explicit -C evil status > /dev/null 2>&1"), 0);
  EXPECT_FALSE(fs::exists(marker_));
  (void)Host("git -C evil status > /dev/null 2>&1");
  EXPECT_TRUE(fs::exists(marker_));
  fs::remove(marker_);
  EXPECT_EQ(Says(cell, "/workspace/made/.git"), 0u);
  ASSERT_TRUE(supervisor_.Remove(cell).ok());
  const std::string next = supervisor_.Cell(Request());
  EXPECT_EQ(Says(next, "/workspace/evil: guarded"), 1u);
  EXPECT_EQ(Says(next, "/workspace/made/.git: guarded"), 1u);
}

// Directories on the way are exchanged while cells start: whatever a cell pins under the name, its
// hooks are kept.
TEST_F(NestedRepositoriesTest, HooksStayWithTheDirectoryThatIsPinned) {
  for (const std::string name : {"a", "b"}) {
    Make("v/" + name);
    File("v/" + name + "/.git/hooks/pre-commit");
  }
  const fs::path a = workspace_ / "v/a";
  const fs::path b = workspace_ / "v/b";
  for (int round = 0; round < 20 && !HasFailure(); ++round) {
    std::atomic<bool> stop = false;
    std::thread swapper([&] {
      while (!stop) renameat2(AT_FDCWD, a.c_str(), AT_FDCWD, b.c_str(), RENAME_EXCHANGE);
    });
    const auto cell = supervisor_.Prepare(Request());
    stop = true;
    swapper.join();
    ASSERT_TRUE(cell.ok()) << cell.status().ToString();
    const Findings findings = Probe(&supervisor_, cell->cell_id(), R"(
for name in ['a', 'b']:
    git = 'v/' + name + '/.git'
    attempt(name + ':aside', lambda: os.rename('v/' + name, 'v/aside'))
    if os.path.exists('v/aside'): os.rename('v/aside', 'v/' + name)
    attempt(name + ':hook', lambda: os.open(git + '/hooks/pre-commit', os.O_WRONLY))
    attempt(name + ':made', lambda: os.open(git + '/commondir', os.O_CREAT | os.O_WRONLY))
)");
    size_t pinned = 0;
    for (const std::string name : {"a", "b"}) {
      if (findings.at(name + ":aside") != "EBUSY") continue;
      ++pinned;
      EXPECT_EQ(findings.at(name + ":hook"), "EROFS") << name << " in round " << round;
      EXPECT_TRUE(IsRefusal(findings.at(name + ":made"))) << name << " in round " << round;
    }
    EXPECT_GE(pinned, 1u) << "in round " << round;
    EXPECT_TRUE(supervisor_.Remove(cell->cell_id()).ok());
  }
}

}  // namespace
}  // namespace odyssey::testing
