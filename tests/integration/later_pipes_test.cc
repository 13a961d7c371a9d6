// Named pipes that the host makes in a writable tree while the cell lives are covered when they
// appear; those that commands make are theirs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <deque>
#include <filesystem>

#include "tests/integration/later_endpoints_fixture.h"
#include "tests/integration/unix_listener.h"

namespace odyssey::testing {
namespace {

namespace fs = std::filesystem;

constexpr size_t kAttempts = 3;

class LaterPipesTest : public LaterEndpoints {
 protected:
  void Listen(const std::string& name) { readers_.emplace_back(tree_ + name, kOwner); }
  static std::string Attempts(const std::string& name) {
    return kAwaitCover + ("await_cover('/data" + name + "')\n") +
           PipeAttempts(name, "/data" + name);
  }
  void ExpectSilence() {
    for (const PipeReader& each : readers_) EXPECT_FALSE(Heard(each.fd()));
  }

  std::deque<PipeReader> readers_;
};

TEST_F(LaterPipesTest, WhereverItAppearsItHearsNothing) {
  const std::string cell = Cell();
  Listen("/x");
  fs::create_directories(tree_ + "/a/b");
  Listen("/a/b/x");
  Listen("/moved");
  fs::rename(tree_ + "/moved", tree_ + "/a/y");
  fs::create_hard_link(tree_ + "/x", tree_ + "/linked");
  std::string attempts;
  for (const char* name : {"/x", "/a/b/x", "/a/y", "/linked"}) attempts += Attempts(name);
  ExpectAll(Probe(&supervisor_, cell, attempts), {"EACCES"}, 4 * kAttempts);
  ExpectSilence();
}

TEST_F(LaterPipesTest, OneThatIsMadeAnewHearsNothing) {
  Listen("/x");
  const std::string cell = Cell();
  for (int i = 0; i < 3; ++i) {
    fs::remove(tree_ + "/x");
    Listen("/x");
    ExpectAll(Probe(&supervisor_, cell, Attempts("/x")), {"EACCES"}, kAttempts);
  }
  ExpectSilence();
}

// In each way to name one, and with what its caller asked for.
TEST_F(LaterPipesTest, TheCellsOwnAreItsOwn) {
  fs::create_directory(tree_ + "/deep");
  ASSERT_EQ(chown((tree_ + "/deep").c_str(), kOwner, kOwner), 0);
  const std::string cell = Cell();
  const ExecResult result = supervisor_.Python(cell, R"(
import os, stat, threading, time
def through(path):
    writer = threading.Thread(target=lambda: open(path, 'w').write('text'))
    writer.start()
    assert open(path).read() == 'text', path
    writer.join()
os.chdir('/data')
os.symlink('/data/deep', 'link')
directory = os.open('deep', os.O_RDONLY | os.O_DIRECTORY)
os.mkfifo('relative')
os.mkfifo('/data/absolute')
os.mkfifo('../data/deep/up')
os.mkfifo('link/followed')
os.mkfifo('at', dir_fd=directory)
os.mknod('/data/node', stat.S_IFIFO | 0o600)
os.mkdir('new'); os.mkfifo('new/in')
os.mkfifo('/tmp/elsewhere')
os.mkfifo('before'); os.rename('before', 'renamed'); os.link('renamed', 'linked')
time.sleep(0.1)
for path in ['relative', 'absolute', 'deep/up', 'deep/followed', 'deep/at', 'node', 'new/in',
             '/tmp/elsewhere', 'renamed', 'linked']:
    through(path)
for mask, asked, mode in [(0o22, 0o666, 0o644), (0, 0o666, 0o666), (0o77, 0o777, 0o700),
                          (0, 0o1640, 0o1640), (0o777, 0o666, 0)]:
    os.umask(mask)
    os.mkfifo('mode', asked)
    assert stat.S_IMODE(os.stat('mode').st_mode) == mode, oct(os.stat('mode').st_mode)
    assert os.stat('mode').st_uid == os.getuid()
    os.unlink('mode')
print('all')
)");
  EXPECT_EQ(result.out, "all\n") << result.ToString();
  struct stat info;
  ASSERT_EQ(stat((tree_ + "/node").c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, kOwner);
  // For the next command too.
  const ExecResult next = supervisor_.Shell(
      cell, "cd /data && (echo later > absolute &) && cat absolute && rm absolute && ls absolute");
  EXPECT_EQ(next.out, "later\n") << next.ToString();
}

TEST_F(LaterPipesTest, WhatCannotBeMadeIsRefusedAsTheKernelDoes) {
  fs::create_directory(tree_ + "/shut");
  const std::string cell = Cell();
  const Findings findings = Probe(&supervisor_, cell, R"(
import stat
os.chdir('/data')
os.mkfifo('there')
os.mkdir('closed', 0o500)
attempt('there', lambda: os.mkfifo('there'))
attempt('nowhere', lambda: os.mkfifo('no/where'))
attempt('a file', lambda: os.mkfifo('there/in'))
attempt('long', lambda: os.mkfifo('x' * 300))
attempt('empty', lambda: os.mkfifo(''))
attempt('dot', lambda: os.mkfifo('.'))
attempt('closed', lambda: os.mkfifo('closed/x'))
attempt('strange', lambda: os.mkfifo('shut/x'))
attempt('read-only', lambda: os.mkfifo('/usr/x'))
attempt('closed directory', lambda: os.mkfifo('x', dir_fd=99))
attempt('bad address', lambda: call(133, 8, stat.S_IFIFO | 0o600, 0))
attempt('set-uid', lambda: call(133, b'x', stat.S_IFIFO | 0o4600, 0))
)");
  const std::pair<const char*, const char*> expected[] = {
      {"there", "EEXIST"},           {"nowhere", "ENOENT"},     {"a file", "ENOTDIR"},
      {"long", "ENAMETOOLONG"},      {"empty", "ENOENT"},       {"dot", "EEXIST"},
      {"closed", "EACCES"},          {"strange", "EACCES"},     {"read-only", "EROFS"},
      {"closed directory", "EBADF"}, {"bad address", "EFAULT"}, {"set-uid", "EPERM"}};
  for (const auto& [name, answer] : expected) EXPECT_EQ(findings.at(name), answer) << name;
}

// A command cannot have cell-init take the host's for its own: neither by the name of one that it
// removed, nor by making one where one is.
TEST_F(LaterPipesTest, AnotherByTheNameOfTheCellsOwnHearsNothing) {
  const std::string cell = Cell();
  ASSERT_TRUE(supervisor_.Shell(cell, "cd /data; mkfifo a b; rm a; mv b c").Exited(0));
  Listen("/a");
  Listen("/b");
  ASSERT_TRUE(supervisor_.Shell(cell, "cd /data; mkfifo a b; true").Exited(0));
  ExpectAll(Probe(&supervisor_, cell, Attempts("/a") + Attempts("/b")), {"EACCES"}, 2 * kAttempts);
  ExpectSilence();
}

TEST_F(LaterPipesTest, NoneIsTakenForTheCellsWhileBothMakeThem) {
  const std::string cell = Cell();
  RunningExec running(supervisor_.stub(), cell, R"(cd /data; exec python3 -c "
import os, time
ends = time.monotonic() + 3
while time.monotonic() < ends:
    try: os.mkfifo('x'); os.unlink('x')
    except OSError: pass
open('done', 'w')
")");
  const std::string name = tree_ + "/x";
  while (!fs::exists(tree_ + "/done")) {
    (void)mkfifo(name.c_str(), 0666);
    (void)unlink(name.c_str());
  }
  EXPECT_TRUE(running.Finish().Exited(0));
  fs::remove(name);
  Listen("/x");
  ExpectAll(Probe(&supervisor_, cell, Attempts("/x")), {"EACCES"}, kAttempts);
  ExpectSilence();
}

TEST_F(LaterPipesTest, ManyAreMadeAndTooManyRefused) {
  const std::string cell = Cell();
  const ExecResult result = supervisor_.Python(cell, R"(
import os
os.chdir('/data')
for i in range(1000):
    os.mkfifo('x'); os.unlink('x')
for i in range(256): os.mkfifo(str(i))
try: os.mkfifo('more')
except OSError as error: print(error.strerror)
os.unlink('7'); os.mkfifo('more')
print('all')
)");
  EXPECT_EQ(result.out, "No space left on device\nall\n") << result.ToString();
}

// The test of the tests.
TEST_F(LaterPipesTest, WithoutProtectionItIsHeard) {
  GrantNoProtection(supervisor_);
  auto request = Request();
  request.mutable_sandbox()->set_protection(policy::v1::PROTECTION_NONE);
  const std::string cell = supervisor_.Cell(request);
  Listen("/x");
  (void)Probe(&supervisor_, cell, PipeAttempts("x", "/data/x"));
  EXPECT_TRUE(Heard(readers_.front().fd()));
}

}  // namespace
}  // namespace odyssey::testing
