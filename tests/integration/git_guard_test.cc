// A repository that a cell may write to, and what the host's git does in it afterwards: nothing
// that the cell put there is run, and it is the same repository still.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/integration/git_fixture.h"

namespace odyssey::testing {
namespace {

namespace fs = std::filesystem;

constexpr uid_t kOwner = 5000;

class GitGuardTest : public GitFixture {};

// (a) Nothing that git obeys can be made where there was nothing.
TEST_F(GitGuardTest, WhatGitObeysCannotBeMade) {
  fs::remove_all(workspace_ / ".git/hooks");
  fs::remove_all(workspace_ / ".git/branches");
  const std::string cell = supervisor_.Cell(Request());
  ASSERT_TRUE(supervisor_.Shell(cell, Evil("evil")).Exited(0));
  const Findings findings = Probe(&supervisor_, cell, R"(
names = ['commondir', 'config.worktree', 'config.worktree.lock', 'hooks', 'remotes',
         'branches', 'worktrees/x/config', 'worktrees/x/hooks', 'modules/a/b/config',
         'modules/lib/hooks', 'modules/lib/commondir']
os.makedirs('.git/worktrees/x'); os.makedirs('.git/modules/a/b'); os.makedirs('.git/modules/lib')
for name in names:
    path = '.git/' + name
    open('.git/other', 'w').write('../evil\n')
    os.mkdir('.git/directory')
    attempt(name + ':open', lambda: os.open(path, os.O_CREAT | os.O_WRONLY))
    attempt(name + ':rename', lambda: os.rename('.git/other', path))
    attempt(name + ':rename_directory', lambda: os.rename('.git/directory', path))
    attempt(name + ':mkdir', lambda: os.mkdir(path))
    attempt(name + ':link', lambda: os.link('.git/other', path))
    attempt(name + ':symlink', lambda: os.symlink('../evil', path))
    attempt(name + ':mknod', lambda: os.mknod(path))
    attempt(name + ':absolute', lambda: os.open('/workspace/' + path, os.O_CREAT | os.O_RDWR))
    os.rmdir('.git/directory')
lock = '.git/config.lock'  # which may be made as git makes it, and in no other way
open('.git/other', 'w').write('[core]\n'); os.mkdir('.git/directory')
attempt('lock:rename', lambda: os.rename('.git/other', lock))
attempt('lock:rename_directory', lambda: os.rename('.git/directory', lock))
attempt('lock:mkdir', lambda: os.mkdir(lock))
attempt('lock:link', lambda: os.link('.git/other', lock))
attempt('lock:symlink', lambda: os.symlink('../evil', lock))
os.rmdir('.git/directory')
os.makedirs('.git/own/deep'); open('.git/own/config', 'w').write('x')
open('.git/own/deep/config', 'w').write('x')
for to in ['worktrees/y', 'modules/own', 'hooks']:
    attempt('own->' + to, lambda: os.rename('.git/own', '.git/' + to))
attempt('away', lambda: os.rename('.git/worktrees/x', '.git/x'))
attempt('exchange', lambda: call(316, -100, b'.git/own', -100, b'.git/worktrees/x', 2))
)");
  ExpectAll(findings, kRefusals, 11 * 8 + 5 + 5);
  (void)supervisor_.Shell(cell,
                          "echo ../evil > .git/commondir; mkdir .git/hooks; cp /bin/true "
                          ".git/hooks/pre-commit; chmod 755 .git/hooks/pre-commit");
  EXPECT_FALSE(fs::exists(workspace_ / ".git/commondir"));
  EXPECT_FALSE(fs::exists(workspace_ / ".git/hooks"));
  ExpectHostUntouched("made");
}

// (b) It stays a repository, so that git does not look for another one in its place.
TEST_F(GitGuardTest, ItStaysARepository) {
  const std::string cell = supervisor_.Cell(Request());
  ASSERT_TRUE(supervisor_.Shell(cell, Evil(".")).Exited(0));
  const Findings findings = Probe(&supervisor_, cell, R"(
head = '.git/HEAD'
lock = '.git/HEAD.lock'
def put(content, name=lock):
    if os.path.lexists(name): os.unlink(name)
    open(name, 'w').write(content)
attempt('unlink', lambda: os.unlink(head))
attempt('away', lambda: os.rename(head, '.git/aside'))
attempt('truncate', lambda: os.truncate(head, 0))
attempt('open', lambda: os.open(head, os.O_WRONLY))
attempt('open_truncating', lambda: os.open(head, os.O_RDONLY | os.O_TRUNC))
attempt('chmod', lambda: os.chmod(head, 0))
attempt('link', lambda: os.link(head, '.git/another'))
for bad in ['', 'garbage\n', 'ref: elsewhere\n', 'ref: refs/\n', 'a' * 39, 'a' * 5000]:
    put(bad)
    attempt('bad:' + bad[:20].strip(), lambda: os.rename(lock, head))
put('ref: refs/heads/main\n'); os.chmod(lock, 0)
attempt('unreadable', lambda: os.rename(lock, head))
put('ref: refs/heads/main\n')
attempt('two_names', lambda: os.link(lock, '.git/y'))
attempt('exchange', lambda: call(316, -100, lock.encode(), -100, b'.git/HEAD', 2))
put('ref: refs/heads/main\n', '.git/x')
attempt('another', lambda: os.rename('.git/x', head))
attempt('another as lock', lambda: os.rename('.git/x', lock))
os.mkdir('.git/d')
handle = os.open(lock, os.O_RDWR)
os.rename(lock, head)
attempt('handle', lambda: os.pwrite(handle, b'garbage', 0))
attempt('handle_truncate', lambda: os.ftruncate(handle, 0))
attempt('handle_chmod', lambda: os.fchmod(handle, 0))
attempt('handle_reopen', lambda: os.open(f'/proc/self/fd/{handle}', os.O_WRONLY))
attempt('handle_allocate', lambda: os.posix_fallocate(handle, 0, 4096))
for name in ['objects', 'refs']:
    path = '.git/' + name
    attempt(name + ':chmod', lambda: os.chmod(path, 0))
    fd = os.open(path, os.O_RDONLY)
    attempt(name + ':fchmod', lambda: os.fchmod(fd, 0))
    attempt(name + ':rmdir', lambda: os.rmdir(path))
    attempt(name + ':away', lambda: os.rename(path, '.git/aside'))
    attempt(name + ':replace', lambda: os.rename('.git/d', path))
attempt('itself:chmod', lambda: os.chmod('.git', 0))
attempt('itself:away', lambda: os.rename('.git', 'aside'))
attempt('itself:rmdir', lambda: os.rmdir('.git'))
os.mkdir('other')
attempt('itself:replace', lambda: os.rename('other', '.git'))
attempt('itself:exchange', lambda: call(316, -100, b'other', -100, b'.git', 2))
)");
  ExpectAll(findings, kRefusals, 35);
  ExpectHostUntouched("each way");
  (void)supervisor_.Shell(cell,
                          "mv .git aside; rm -f .git/HEAD; chmod 0 .git/objects; chmod 0 .git");
  ExpectHostUntouched("by commands");
  (void)supervisor_.Shell(cell, "rm -rf .git/HEAD .git/config .git/commondir .git/hooks");
  ExpectHostUntouched("removed");
}

TEST_F(GitGuardTest, RemovedAsAWholeItIsNoOtherRepository) {
  const std::string cell = supervisor_.Cell(Request());
  ASSERT_TRUE(supervisor_.Shell(cell, Evil(".")).Exited(0));
  EXPECT_FALSE(supervisor_.Shell(cell, "rm -rf .git").Exited(0));
  (void)Host("git status > status 2>&1; git commit -q --allow-empty -m x > status 2>&1");
  EXPECT_EQ(Host("test \"$(git rev-parse --git-dir)\" = .git"), 0);
  EXPECT_FALSE(fs::exists(marker_));
}

// The host may give a file of git's a second name, beside it or through another tree.
TEST_F(GitGuardTest, ASecondNameIsJudgedByItsFile) {
  const std::string cell = supervisor_.Cell(Request());
  ASSERT_EQ(Host("ln .git/HEAD .git/second"), 0);
  const Findings findings = Probe(&supervisor_, cell, R"(
name = '.git/second'
attempt('write', lambda: os.open(name, os.O_WRONLY))
attempt('truncating', lambda: os.open(name, os.O_WRONLY | os.O_TRUNC))
attempt('truncating_reader', lambda: os.open(name, os.O_RDONLY | os.O_TRUNC))
attempt('truncate', lambda: os.truncate(name, 0))
attempt('chmod', lambda: os.chmod(name, 0))
)");
  ExpectAll(findings, kRefusals, 5);
  EXPECT_EQ(Slurp(workspace_ / ".git/HEAD"), "ref: refs/heads/main\n");
  ExpectHostUntouched("second name");
}

TEST_F(GitGuardTest, ALinkedWorkingTreeLeadsToNoOtherRepository) {
  const fs::path linked = supervisor_.directory() + "/linked";
  ASSERT_EQ(Host("git worktree add -q " + linked.string() + " 2> /dev/null"), 0);
  const std::string cell = supervisor_.Cell(Request());
  ASSERT_TRUE(supervisor_.Shell(cell, Evil("evil")).Exited(0));
  const Findings findings = Probe(&supervisor_, cell, R"(
tree = '.git/worktrees/linked'
lead = tree + '/commondir'
def check(name, act):
    attempt(name, act)
    if os.path.exists(lead) and open(lead).read() != '../..\n': report(name + ':content', 'changed')
check('write', lambda: open(lead, 'w').write('../../../evil\n'))
check('append', lambda: open(lead, 'a').write('x'))
open('.git/x', 'w').write('../../../evil\n')
check('replace', lambda: os.rename('.git/x', lead))
check('truncate', lambda: os.truncate(lead, 0))
os.unlink(lead)
check('rename', lambda: os.rename('.git/x', lead))
check('link', lambda: os.link('.git/x', lead))
check('symlink', lambda: os.symlink('../../../evil', lead))
check('mkfifo', lambda: os.mkfifo(lead))
with open(lead, 'wb', buffering=0) as file:
    check('content', lambda: file.write(b'../../../evil\n'))
    check('longer', lambda: file.write(b'../../x\n'))
    file.write(b'../..\n')
    check('more', lambda: file.write(b'/evil\n'))
check('config', lambda: open(tree + '/config', 'w'))
check('away', lambda: os.rename(tree, '.git/worktrees/other'))
)");
  ExpectAll(findings, kRefusals, 13);
  EXPECT_EQ(Slurp(workspace_ / ".git/worktrees/linked/commondir"), "../..\n");
  EXPECT_EQ(Host("git -C " + linked.string() + " status > /dev/null"), 0);
  EXPECT_FALSE(fs::exists(marker_));
}

// git on the host writes messages through a link that it finds in their place.
TEST_F(GitGuardTest, NoLinkLeadsTheHostsGitOutOfTheRepository) {
  const std::string cell = supervisor_.Cell(Request());
  const fs::path victim = supervisor_.directory() + "/victim";
  std::ofstream(victim) << "of the host\n";
  for (const std::string name : {"COMMIT_EDITMSG", "SQUASH_MSG", "FETCH_HEAD", "ORIG_HEAD"}) {
    (void)supervisor_.Shell(cell, "rm -f .git/" + name + "; ln -s " + victim.string() + " .git/" +
                                      name + "; ln -s " + victim.string() + " link; mv link .git/" +
                                      name);
  }
  ASSERT_TRUE(
      supervisor_
          .Shell(cell,
                 kIdentity +
                     std::string("git checkout -q -b side; echo x > x;"
                                 "git add x; git commit -q -m 'evil words'; git checkout -q main"))
          .Exited(0));
  EXPECT_EQ(
      Host("git commit -q --allow-empty -m mine; git merge -q --squash side > /dev/null 2>&1"), 0);
  EXPECT_EQ(Slurp(victim), "of the host\n");
}

TEST_F(GitGuardTest, GitWorksAndItsFilesBelongToTheOwner) {
  ASSERT_EQ(Host("chown -R 5000:5000 ."), 0);
  const std::string cell = supervisor_.Cell(Request());
  const ExecResult result = supervisor_.Shell(cell, std::string("set -e\n") + kIdentity + R"(
for i in $(seq 300); do echo $i > f$i; done; git add .; git commit -q -m second
git branch -q old; git checkout -q -b side; echo two >> file; git commit -q -a -m third
git checkout -q main; echo x > other; git add other; git commit -q -m fourth
git merge -q -m merged side; git tag v1; git branch -q -d side 2>&1
echo three >> file; git stash -q; git stash pop -q; git mv other moved; git reset -q --hard
git rebase -q HEAD~1; git gc -q; git fsck --strict --no-dangling
git worktree add -q /tmp/tree old; git -C /tmp/tree status --short; git worktree list | wc -l
git worktree remove /tmp/tree; git worktree add -q /tmp/tree2 -b again; git worktree prune
git checkout -q --detach; git checkout -q main; git symbolic-ref HEAD
git clone -q . /tmp/copy; cd /tmp/copy; echo new > new; git add new; git commit -q -m pushed
for i in $(seq 200); do echo $i > n$i; git add n$i; done; git commit -q -m many
git push -q origin HEAD:refs/heads/pushed; cd /workspace
git fetch -q /tmp/copy main; git merge -q --ff-only FETCH_HEAD; git log --format=%s | head -2
git init -q /tmp/fresh; mkdir inner; git init -q inner; rm -rf inner; git status --short
)");
  EXPECT_TRUE(result.Exited(0)) << result.ToString();
  EXPECT_EQ(result.out, "2\nrefs/heads/main\nmany\npushed\n") << result.ToString();
  EXPECT_EQ(Host("git fsck --strict --no-dangling > /dev/null 2>&1"), 0);
  for (const auto& entry : fs::recursive_directory_iterator(workspace_)) {
    struct stat info {};
    ASSERT_EQ(lstat(entry.path().c_str(), &info), 0);
    EXPECT_EQ(info.st_uid, kOwner) << entry.path();
  }
  ExpectHostUntouched("worked");
}

TEST_F(GitGuardTest, HooksOfTheRepositoryRunInTheCellWhereAnythingMay) {
  std::ofstream(workspace_ / ".git/hooks/pre-commit") << "#!/bin/sh\necho hook ran\n";
  fs::permissions(workspace_ / ".git/hooks/pre-commit", fs::perms::all);
  auto request = Request();
  for (const bool all : {true, false}) {
    request.mutable_sandbox()->set_executables_mode(all ? policy::v1::EXECUTABLES_MODE_ALL
                                                        : policy::v1::EXECUTABLES_MODE_STANDARD);
    const std::string cell = supervisor_.Cell(request);
    const ExecResult result =
        supervisor_.Shell(cell, std::string(kIdentity) + "git commit -q --allow-empty -m x 2>&1");
    EXPECT_EQ(result.out.find("hook ran") != std::string::npos, all) << result.ToString();
  }
}

TEST_F(GitGuardTest, DeniedNamesAreRefusedByTheSameGuard) {
  std::ofstream(workspace_ / ".git/secret") << "secret";
  auto request = Request();
  request.mutable_sandbox()->add_deny("**/secret");
  const std::string cell = supervisor_.Cell(request);
  EXPECT_EQ(Guards(), 1u);
  EXPECT_FALSE(supervisor_.Shell(cell, "cat .git/secret").Exited(0));
  ASSERT_TRUE(supervisor_.Shell(cell, Evil("evil") + Evil(".")).Exited(0));
  const Findings findings = Probe(&supervisor_, cell, R"(
open('lead', 'w').write('../evil\n'); os.mkdir('d'); os.mkdir('d/hooks')
attempt('make', lambda: os.open('.git/commondir', os.O_CREAT | os.O_WRONLY))
attempt('remove', lambda: os.unlink('.git/HEAD'))
attempt('chmod', lambda: os.chmod('.git', 0))
attempt('aside', lambda: os.rename('.git', 'aside'))
attempt('config', lambda: os.open('.git/config', os.O_WRONLY))
attempt('symlink', lambda: os.symlink('x', '.git/x'))
)");
  ExpectAll(findings, kRefusals, 6);
  (void)supervisor_.Shell(cell, "mv lead .git/commondir; mv d/hooks .git/; ln lead .git/commondir");
  EXPECT_FALSE(fs::exists(workspace_ / ".git/commondir"));
  ExpectHostUntouched("denied");
  const ExecResult commit =
      supervisor_.Shell(cell, std::string(kIdentity) +
                                  "git checkout -q -b b; git commit -q -a -m cell; git log "
                                  "--format=%s -1; git worktree add -q /tmp/t; git gc -q");
  EXPECT_TRUE(commit.Exited(0)) << commit.ToString();
}

TEST_F(GitGuardTest, ARepositoryWithoutWorkingTreeIsGuardedItself) {
  const fs::path bare = supervisor_.directory() + "/bare.git";
  ASSERT_EQ(Host("git clone -q --bare . " + bare.string()), 0);
  auto request = SupervisorHarness::Request("bare");
  policy::v1::Mount* mount = request.mutable_sandbox()->add_mounts();
  mount->set_source(bare);
  mount->set_target("/bare");
  mount->set_access(policy::v1::ACCESS_READ_WRITE);
  const std::string cell = supervisor_.Cell(request);
  const Findings findings = Probe(&supervisor_, cell, R"(
for name in ['commondir', 'hooks/pre-receive', 'config.worktree', 'config']:
    attempt(name, lambda: os.open('/bare/' + name, os.O_CREAT | os.O_WRONLY))
attempt('head', lambda: os.unlink('/bare/HEAD'))
)");
  ExpectAll(findings, kRefusals, 5);
  const ExecResult push =
      supervisor_.Shell(cell, std::string(kIdentity) +
                                  "cd /tmp; git clone -q /bare c; cd c; git commit -q "
                                  "--allow-empty -m cell; git push -q; git -C /bare log -1 "
                                  "--format=%s");
  EXPECT_EQ(push.out, "cell\n") << push.ToString();
}

TEST_F(GitGuardTest, NothingIsThereWithoutARepository) {
  fs::remove_all(workspace_ / ".git");
  const std::string cell = supervisor_.Cell(Request());
  EXPECT_EQ(Guards(), 0u);
  const ExecResult result =
      supervisor_.Shell(cell, "grep -c fuse /proc/self/mountinfo; git init -q . && echo made");
  EXPECT_EQ(result.out, "0\nmade\n") << result.ToString();
  EXPECT_FALSE(supervisor_.Shell(cell, "exec 9<>/dev/fuse").Exited(0));
  ASSERT_TRUE(supervisor_.Remove(cell).ok());
  const std::string next = supervisor_.Cell(Request());
  EXPECT_EQ(Guards(), 1u);
  EXPECT_FALSE(supervisor_.Shell(next, "exec 9<>/dev/fuse").Exited(0));
}

// Last: it takes a capability from this process for good.
TEST(GitGuardWithoutFuseTest, MountsProtectAndTheCellSaysSo) {
  ASSERT_EQ(prctl(PR_CAPBSET_DROP, CAP_MKNOD, 0, 0, 0), 0);
  SupervisorHarness supervisor;
  const std::string workspace = supervisor.directory() + "/w";
  for (const std::string& directory : {workspace, workspace + "/lib"}) {
    ASSERT_EQ(system(("git init -q " + directory).c_str()), 0);  // NOLINT(concurrency-mt-unsafe)
  }
  v1::PrepareCellRequest request = SupervisorHarness::Request("git");
  request.set_workspace(workspace);
  const std::string cell = supervisor.Cell(request);
  ExpectAll(Probe(&supervisor, cell, R"(
attempt('config', lambda: os.open('.git/config', os.O_WRONLY))
attempt('hook', lambda: os.open('.git/hooks/new', os.O_WRONLY | os.O_CREAT))
attempt('lib config', lambda: os.open('lib/.git/config', os.O_WRONLY))
attempt('lib hook', lambda: os.open('lib/.git/hooks/new', os.O_WRONLY | os.O_CREAT))
attempt('lib aside', lambda: os.rename('lib', 'aside'))
attempt('lib/.git aside', lambda: os.rename('lib/.git', 'lib/aside'))
)"),
            {"EROFS", "EBUSY"}, 6);
  grpc::ClientContext context;
  v1::DescribeCellRequest describe;
  describe.set_cell_id(cell);
  v1::DescribeCellResponse described;
  ASSERT_TRUE(supervisor.stub()->DescribeCell(&context, describe, &described).ok());
  EXPECT_EQ(std::count_if(described.plan().begin(), described.plan().end(),
                          [](const std::string& line) {
                            return line.find("/.git: NOT guarded") != std::string::npos;
                          }),
            2);
  EXPECT_EQ(std::count_if(described.plan().begin(), described.plan().end(),
                          [](const std::string& line) {
                            return line.rfind("/workspace/lib/.git: guarded", 0) == 0;
                          }),
            0);
  request.mutable_sandbox()->add_deny("**/.env");
  request.mutable_key()->set_component("denied");
  const Status refused = supervisor.Prepare(request).status();
  EXPECT_NE(refused.message().find("deny: open /dev/fuse"), std::string::npos)
      << refused.ToString();
}

}  // namespace
}  // namespace odyssey::testing
