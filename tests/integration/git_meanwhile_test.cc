// Rebasing in a repository that a cell may write to: it works there, and what the host's git goes
// on with runs nothing of the cell's.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/integration/git_fixture.h"

namespace odyssey::testing {
namespace {

namespace fs = std::filesystem;

class GitMeanwhileTest : public GitFixture {
 protected:
  // On the branch side, in the middle of a rebase onto main that waits for a decision about `file`.
  void BeginOnTheHost() {
    ASSERT_EQ(Host("git checkout -q -b side && echo side > file && git commit -q -a -m side && "
                   "git checkout -q main && echo main > file && git commit -q -a -m main && "
                   "git checkout -q side"),
              0);
    EXPECT_NE(Host("git rebase main > /dev/null 2>&1"), 0);
    ASSERT_TRUE(fs::exists(workspace_ / ".git/rebase-merge/git-rebase-todo"));
  }
};

// What the host replaces while the cell lives is kept as well.
TEST_F(GitMeanwhileTest, WhatTheHostReplacesStaysOutOfReach) {
  const std::string cell = supervisor_.Cell(Request());
  ASSERT_EQ(Host("git config user.name host && git config core.x y"), 0);
  ASSERT_EQ(Host("rm -r .git/hooks && mkdir .git/hooks"), 0);
  const ExecResult seen = supervisor_.Shell(cell, "git config core.x");
  EXPECT_EQ(seen.out, "y\n") << seen.ToString();
  const std::string before = Slurp(workspace_ / ".git/config");
  const std::string text = "[core]\\n\\tfsmonitor = " + payload_.string() + "\\n";
  const Findings findings = Probe(&supervisor_, cell, R"(
text = b')" + text + R"('
attempt('append', lambda: open('.git/config', 'ab').write(text))
attempt('write', lambda: open('.git/config', 'wb').write(text))
attempt('truncate', lambda: os.truncate('.git/config', 0))
attempt('unlink', lambda: os.unlink('.git/config'))
attempt('away', lambda: os.rename('.git/config', '.git/aside'))
open('.git/mine', 'wb').write(text)
attempt('replace', lambda: os.rename('.git/mine', '.git/config'))
attempt('exchange', lambda: call(316, -100, b'.git/mine', -100, b'.git/config', 2))
attempt('link', lambda: os.link('.git/config', '.git/another'))
attempt('chmod', lambda: os.chmod('.git/config', 0o777))
attempt('utime', lambda: os.utime('.git/config'))
attempt('hook', lambda: os.open('.git/hooks/pre-commit', os.O_CREAT | os.O_WRONLY))
attempt('hooks', lambda: os.rmdir('.git/hooks'))
)");
  ExpectAll(findings, kRefusals, 12);
  EXPECT_EQ(Slurp(workspace_ / ".git/config"), before);
  ExpectHostUntouched("replaced");
}

// An editor on the host writes beside the file and renames; the cell has its file open.
TEST_F(GitMeanwhileTest, AFileThatIsOpenIsJudgedByWhatItHasBecome) {
  const std::string cell = supervisor_.Cell(Request());
  std::ofstream(workspace_ / ".git/sedAbC") << Slurp(workspace_ / ".git/config");
  RunningExec open(supervisor_.stub(), cell,
                   "exec 9>> .git/sedAbC; echo ready; until [ -e /workspace/go ]; do sleep 0.01; "
                   "done; printf "
                   "'[core]\\n\\tfsmonitor = " +
                       payload_.string() + "\\n' >&9 && echo written; echo done");
  ASSERT_TRUE(open.ReadUntil("ready"));
  ASSERT_EQ(Host("mv .git/sedAbC .git/config && touch go"), 0);
  ASSERT_TRUE(open.ReadUntil("done"));
  EXPECT_EQ(Slurp(workspace_ / ".git/config").find("fsmonitor"), std::string::npos);
  fs::remove(workspace_ / "go");
  ExpectHostUntouched("open");
}

// With denied names the guard stands on the tree around, and a repository is what has its name.
TEST_F(GitMeanwhileTest, ARepositoryThatTheHostMakesAnewIsGuardedWithTheTreeAroundIt) {
  auto request = Request();
  request.mutable_sandbox()->add_deny("**/.env");
  const std::string cell = supervisor_.Cell(request);
  ASSERT_EQ(Host("rm -rf .git && git init -q -b main ."), 0);
  ExpectAll(Probe(&supervisor_, cell, R"(
for name in ['config', 'hooks/new', 'commondir', 'HEAD', 'modules/m/config']:
    if name.startswith('modules'): os.makedirs('.git/modules/m')
    attempt(name, lambda: os.open('.git/' + name, os.O_CREAT | os.O_WRONLY))
attempt('aside', lambda: os.rename('.git', 'aside'))
)"),
            kRefusals, 6);
  ExpectHostUntouched("made anew");
}

// What the page of the documentation says is not covered, and what helps.
TEST_F(GitMeanwhileTest, ARepositoryThatTheHostMakesAnewIsElseGuardedInTheNextCell) {
  const std::string cell = supervisor_.Cell(Request());
  ASSERT_EQ(Host("rm -rf .git && git init -q -b main ."), 0);
  EXPECT_TRUE(supervisor_.Shell(cell, "echo > .git/hooks/new").Exited(0));
  ASSERT_TRUE(supervisor_.Remove(cell).ok());
  const std::string next = supervisor_.Cell(Request());
  EXPECT_FALSE(supervisor_.Shell(next, "echo > .git/hooks/newer").Exited(0));
}

TEST_F(GitMeanwhileTest, RebasingWorksInACell) {
  const std::string cell = supervisor_.Cell(Request());
  const ExecResult result = supervisor_.Shell(cell, std::string("set -e\n") + kIdentity + R"(
names() { git log --format=%s | tr '\n' ' '; echo; }
for i in 1 2 3 4; do echo $i > f$i; git add f$i; git commit -q -m c$i; done
GIT_SEQUENCE_EDITOR="sed -i '2s/pick/fixup/'" git rebase -q -i HEAD~2
names
git log --format='pick %h' HEAD~3.. > /tmp/steps
GIT_SEQUENCE_EDITOR='cp /tmp/steps' git rebase -q -i HEAD~3
names
git checkout -q -b side HEAD~3; echo other > f1; git add f1; git commit -q -m mine
! git rebase -q main > /tmp/log 2>&1
echo both > f1; git add f1; GIT_EDITOR=true git rebase --continue > /tmp/log 2>&1
names
git reset -q --hard HEAD~1; echo third > f1; git commit -q -a -m third; git checkout -q main
echo fourth > f1; git commit -q -a -m fourth
! git rebase -q side > /tmp/log 2>&1
git rebase --skip > /tmp/log 2>&1
names
git rebase -q --apply HEAD~1
! git rebase -x true HEAD~1 2> /tmp/log
grep -q "could not write '.git/rebase-merge/git-rebase-todo': Read-only file system" /tmp/log
git rebase --abort; test ! -e .git/rebase-merge; git status --short; git fsck --strict --no-dangling
)");
  EXPECT_TRUE(result.Exited(0)) << result.ToString();
  EXPECT_EQ(result.out,
            "c3 c2 c1 first \nc1 c2 c3 first \nmine c1 c2 c3 first \nthird c1 c2 c3 first \n")
      << result.ToString();
  ExpectHostUntouched("rebased");
}

TEST_F(GitMeanwhileTest, WhatTheHostGoesOnWithNamesNoCommandsOfTheCells) {
  BeginOnTheHost();
  ASSERT_EQ(mkfifo((workspace_ / ".git/rebase-merge/pipe").c_str(), 0600), 0);
  const std::string cell = supervisor_.Cell(Request());
  const Findings findings = Probe(&supervisor_, cell, R"(
text = b'exec )" + payload_.string() + R"(\n'
steps = '.git/rebase-merge/git-rebase-todo'
def put(name):
    with open(name, 'wb') as file: file.write(text)
def refuse(name, act):
    attempt(name, act)
    if b'exec' in open(steps, 'rb').read(): report(name + ':content', 'changed')
refuse('write', lambda: os.write(os.open(steps, os.O_WRONLY), text))
refuse('append', lambda: os.write(os.open(steps, os.O_WRONLY | os.O_APPEND), b'\n\tx ' + text))
def piecewise():
    fd = os.open(steps, os.O_RDWR)
    for i in range(len(text)): os.write(fd, text[i:i + 1])
refuse('piecewise', piecewise)
refuse('truncating', lambda: os.write(os.open(steps, os.O_WRONLY | os.O_TRUNC), text))
put('.git/rebase-merge/mine')
refuse('replace', lambda: os.rename('.git/rebase-merge/mine', steps))
refuse('replace by a pipe', lambda: os.rename('.git/rebase-merge/pipe', steps))
refuse('exchange', lambda: call(316, -100, b'.git/rebase-merge/mine', -100, steps.encode(), 2))
refuse('second name', lambda: os.link(steps, '.git/other'))
os.mkdir('.git/own'); put('.git/own/git-rebase-todo')
refuse('directory', lambda: os.rename('.git/rebase-merge', '.git/aside'))
refuse('exchange directory', lambda: call(316, -100, b'.git/own', -100, b'.git/rebase-merge', 2))
os.unlink(steps)
attempt('link', lambda: os.link('.git/own/git-rebase-todo', steps))
attempt('symlink', lambda: os.symlink('../own/git-rebase-todo', steps))
attempt('mkfifo', lambda: os.mkfifo(steps))
attempt('made', lambda: put(steps))
os.unlink('.git/own/git-rebase-todo'); open('file', 'w').write('both\n')
)");
  ExpectAll(findings, kRefusals, 14);
  const ExecResult added = supervisor_.Shell(
      cell, std::string(kIdentity) + "git add file; GIT_SEQUENCE_EDITOR='sed -i \"1i x " +
                payload_.string() + "\"' git rebase --edit-todo");
  EXPECT_FALSE(added.Exited(0)) << added.ToString();
  (void)Host("GIT_EDITOR=true git rebase --continue > " + log_.string() + " 2>&1");
  EXPECT_FALSE(fs::exists(marker_)) << Slurp(log_);
}

// What else git keeps of something that it has begun holds no commands that it would run.
TEST_F(GitMeanwhileTest, TheStepsOfACherryPickRunNothing) {
  ASSERT_EQ(Host("git checkout -q -b side; for i in 1 2; do echo side$i > file; "
                 "git commit -q -a -m $i; done; git checkout -q main && echo main > file && "
                 "git commit -q -a -m main"),
            0);
  EXPECT_NE(Host("git cherry-pick side~2..side > /dev/null 2>&1"), 0);
  const std::string cell = supervisor_.Cell(Request());
  ASSERT_TRUE(supervisor_
                  .Shell(cell, "echo exec " + payload_.string() +
                                   " > .git/sequencer/todo; echo x > file; git add file")
                  .Exited(0));
  (void)Host("GIT_EDITOR=true git cherry-pick --continue > " + log_.string() + " 2>&1");
  EXPECT_FALSE(fs::exists(marker_)) << Slurp(log_);
}

}  // namespace
}  // namespace odyssey::testing
