// What git on the host reads from `.git` and acts on: the index, and what is left of an operation
// that goes on later. git in a cell writes all of it.

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/integration/git_fixture.h"

namespace odyssey::testing {
namespace {

namespace fs = std::filesystem;

// A program in the tree, by a name that git takes for a merge strategy: `x/evil`.
constexpr char kStrategy[] =
    "mkdir -p git-merge-x && cp payload git-merge-x/evil && chmod +x git-merge-x/evil\n";

class GitStateTest : public GitFixture {
 protected:
  void SetUp() override {
    GitFixture::SetUp();
    fs::copy_file(payload_, workspace_ / "payload");
    fs::permissions(workspace_ / "payload", fs::perms::all);
    // `side` and `main` have two commits each, and do not agree about `file`.
    ASSERT_EQ(Host("git checkout -q -b side && echo side > file && git commit -q -a -m side && "
                   "echo more > more && git add more && git commit -q -m more && "
                   "git checkout -q main && echo main > file && git commit -q -a -m main && "
                   "echo last > last && git add last && git commit -q -m last && "
                   "git config rerere.enabled true"),
              0);
  }
  ExecResult InCell(const std::string& script) {
    if (cell_.empty()) cell_ = supervisor_.Cell(Request());
    return supervisor_.Shell(cell_, kIdentity + script);
  }
  void ExpectRefused(const std::string& script) {
    const ExecResult result =
        InCell("if { " + script + "\n}; then echo done; else echo refused; fi");
    EXPECT_EQ(result.out, "refused\n") << script << result.ToString();
  }
  void ExpectDone(const std::string& script) {
    const ExecResult result = InCell("set -e\n" + script + "\necho done");
    EXPECT_NE(result.out.find("done"), std::string::npos) << script << result.ToString();
  }

  std::string cell_;
};

TEST_F(GitStateTest, ARebaseRunsNoStrategyOfACells) {
  ASSERT_NE(Host("git checkout -q side && git rebase main > /dev/null 2>&1"), 0);
  ASSERT_TRUE(fs::exists(workspace_ / ".git/rebase-merge"));
  ExpectDone(std::string(kStrategy) + "echo resolved > file; git add file");
  ExpectRefused("printf x/evil > .git/rebase-merge/strategy");
  ExpectRefused("printf x/evil > .git/mine && mv .git/mine .git/rebase-merge/strategy");
  ExpectRefused(
      "mkdir .git/aside && cp -r .git/rebase-merge/. .git/aside/ && "
      "printf x/evil > .git/aside/strategy && mv .git/rebase-merge .git/old && "
      "mv .git/aside .git/rebase-merge");
  ExpectDone("rm -f .git/rebase-merge/strategy; printf 'ort\\n' > .git/rebase-merge/strategy");
  (void)Host("GIT_EDITOR=true git rebase --continue > /dev/null 2>&1");
  EXPECT_FALSE(fs::exists(marker_));
  EXPECT_FALSE(fs::exists(workspace_ / ".git/rebase-merge"));
}

TEST_F(GitStateTest, ASequenceRunsNoStrategyOfACells) {
  ASSERT_NE(Host("git cherry-pick side~1 side > /dev/null 2>&1"), 0);
  ASSERT_TRUE(fs::exists(workspace_ / ".git/sequencer/todo"));
  ExpectDone(std::string(kStrategy) + "echo resolved > file; git add file");
  const std::string options = "printf '[options]\\n\\tstrategy = x/evil\\n' > ";
  ExpectRefused(options + ".git/sequencer/opts");
  ExpectRefused(options +
                ".git/sequencer/opts.lock && mv .git/sequencer/opts.lock .git/sequencer/opts");
  ExpectRefused(options + ".git/mine && mv -f .git/mine .git/sequencer/opts");
  (void)Host("GIT_EDITOR=true git cherry-pick --continue > /dev/null 2>&1");
  EXPECT_FALSE(fs::exists(marker_));
  EXPECT_FALSE(fs::exists(workspace_ / ".git/sequencer"));
}

TEST_F(GitStateTest, AMailboxIsAppliedWithinTheTree) {
  ASSERT_EQ(Host("git checkout -q side && git format-patch -q -2 --stdout > ../patches && "
                 "git checkout -q main"),
            0);
  ASSERT_NE(Host("git am ../patches > /dev/null 2>&1"), 0);
  ASSERT_TRUE(fs::exists(workspace_ / ".git/rebase-apply/apply-opt"));
  ExpectDone("echo resolved > file; git add file");
  ExpectRefused("printf \" '--unsafe-paths'\" > .git/rebase-apply/apply-opt");
  ExpectDone("sed -i s,b/more,b/../outside,g .git/rebase-apply/0002");
  (void)Host("git am --continue > /dev/null 2>&1; git am --abort > /dev/null 2>&1");
  EXPECT_FALSE(fs::exists(supervisor_.directory() + "/outside"));
}

// git copies what it finds under the recorded name, and under what a link there leads to.
TEST_F(GitStateTest, NothingIsRecordedForACell) {
  const std::string secret = supervisor_.directory() + "/secret";
  std::ofstream(secret) << "hidden\n";
  fs::permissions(secret, fs::perms::owner_read);
  const std::string id(40, 'a');
  fs::create_directories(workspace_ / ".git/rr-cache" / id);
  std::ofstream(workspace_ / ".git/rr-cache" / id / "preimage");
  ExpectRefused("ls -a .git/rr-cache | grep aaa");
  ExpectRefused("cat .git/rr-cache/" + id + "/preimage");
  ExpectRefused("touch .git/rr-cache/" + id + "/x");
  ExpectRefused("mkdir .git/rr-cache/x");
  ExpectRefused("mv .git/rr-cache .git/x");
  const std::string record = "printf '" + id + "\\t" + secret + "\\0' > ";
  ExpectRefused(record + ".git/MERGE_RR");
  ExpectRefused(record + ".git/mine && mv .git/mine .git/MERGE_RR");
  // A merge of the cell's own works without.
  ExpectDone(
      "git checkout -q -b other; git merge side >&2 || echo resolved > file; git add file; "
      "git commit -q -m merged; git status --short");
  ASSERT_EQ(Host("git commit -q --allow-empty -m normal"), 0);
  EXPECT_FALSE(fs::exists(workspace_ / ".git/rr-cache" / id / "postimage"));
}

// An index with a hook in it, and with a file beside the tree, as no git writes it.
constexpr char kCraft[] = R"(
cat > craft.py <<'E'
import hashlib, struct, subprocess, sys
blob = subprocess.check_output(['git', 'hash-object', '-w', 'payload']).decode().strip()
entries = b''
paths = [b'../outside', b'.git/hooks/post-checkout', b'file', b'payload']
for path in paths:
    entry = struct.pack('>10I', 0, 0, 0, 0, 0, 0, 0o100755, 0, 0, 0) + bytes.fromhex(blob)
    entry += struct.pack('>H', len(path)) + path
    entries += entry + b'\0' * (8 - len(entry) % 8)
data = struct.pack('>4sII', b'DIRC', 2, len(paths)) + entries
open(sys.argv[1], 'wb').write(data + hashlib.new(sys.argv[2], data).digest())
E
)";

TEST_F(GitStateTest, AnIndexLeadsNowhereElse) {
  fs::remove_all(workspace_ / ".git/hooks");
  fs::create_directory(workspace_ / ".git/hooks");
  ExpectDone(kCraft);
  ExpectRefused("python3 craft.py .git/index sha1");
  ExpectRefused("python3 craft.py .git/index.lock sha1 && mv .git/index.lock .git/index");
  ExpectDone("rm -f .git/index.lock");
  ExpectRefused("python3 craft.py .git/mine sha1 && mv -f .git/mine .git/index");
  ExpectRefused("rm -f .git/index && ln .git/mine .git/index");
  ExpectRefused("cp .git/mine .git/index");
  // Open while it becomes the index.
  ExpectRefused(
      "git read-tree HEAD && cp .git/index .git/saved && exec 9> .git/index.lock && "
      "cat .git/saved >&9 && mv .git/index.lock .git/index && python3 craft.py /tmp/evil sha1 && "
      "dd if=/tmp/evil of=/proc/self/fd/9 conv=notrunc");
  ExpectDone("git read-tree HEAD");
  ASSERT_EQ(Host("git checkout -q -- . && git reset -q --hard"), 0);
  EXPECT_TRUE(fs::is_empty(workspace_ / ".git/hooks"));
  EXPECT_FALSE(fs::exists(supervisor_.directory() + "/outside"));
  ExpectHostUntouched("index");
}

// Its rename would make an index of what a command has written into it.
TEST_F(GitStateTest, ALockOfTheHostsIsNotWritten) {
  fs::copy_file(workspace_ / ".git/index", workspace_ / ".git/index.lock");
  ExpectDone(kCraft);
  ExpectRefused("python3 craft.py .git/index.lock sha1");
  ExpectRefused("rm -f .git/index.lock");
  ExpectRefused("mv .git/index.lock .git/index");
  ASSERT_EQ(Host("cmp .git/index .git/index.lock && mv .git/index.lock .git/index"), 0);
}

TEST_F(GitStateTest, EveryFormOfIndexThatGitWritesIsTaken) {
  ExpectDone(
      "b=$(git hash-object -w file); python3 -c 'import sys\n"
      "for i in range(25000): print(f\"100644 {sys.argv[1]}\\tdir{i // 100}/file{i}\")' $b > list; "
      "git update-index --index-info < list; git commit -q -m many");
  ExpectDone("grep -q IEOT .git/index && grep -q EOIE .git/index");
  for (const std::string version : {"4", "3", "2"}) {
    ExpectDone("git update-index --index-version " + version +
               "; git reset -q HEAD~1; git reset -q HEAD@{1}; git ls-files | wc -l | grep -q 2500");
  }
  ExpectDone(
      "git update-index --untracked-cache --skip-worktree last; git commit -q --allow-empty -m x");
  ExpectDone(
      "git update-index --split-index; echo x > new; git add new; git commit -q -m split; "
      "git rm -q --cached new; git update-index --no-split-index");
  ExpectDone(
      "git worktree add -q --no-checkout inside HEAD~2; cd inside; echo x > y; git add y; "
      "git commit -q -m worktree");
}

TEST_F(GitStateTest, ARepositoryWithOtherNamesOfObjectsWorks) {
  ASSERT_EQ(Host("rm -rf .git && git init -q --object-format=sha256 -b main . && git add . && "
                 "git commit -q -m first"),
            0);
  ExpectDone(
      "echo x > new; git add new; git commit -q -m second; git update-index --index-version 4; "
      "git mv new newer; git commit -q -m third");
  ExpectDone(kCraft);
  ExpectRefused("python3 craft.py .git/index.lock sha256 && mv .git/index.lock .git/index");
}

}  // namespace
}  // namespace odyssey::testing
