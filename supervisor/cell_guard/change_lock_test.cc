// Two guards on one repository: of two cells, or of two trees of one.

#include "supervisor/cell_guard/change_lock.h"

#include <sys/file.h>

#include <atomic>
#include <functional>
#include <thread>

#include "supervisor/cell_guard/guard_fixture.h"

namespace odyssey::cell_guard {
namespace {

namespace fs = std::filesystem;

class ChangeLockTest : public GuardFixture {
 protected:
  // As another guard takes it.
  UniqueFd Held(const std::string& repository) const {
    UniqueFd fd(open(Host(repository).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    EXPECT_EQ(flock(fd.get(), LOCK_EX | LOCK_NB), 0) << errno;
    return fd;
  }
  int Make(const std::string& path) const { return Answer(mkdir(Cell(path).c_str(), 0700)); }

  // Has `act` done by one guard while the other one exchanges two places all the time.
  void WhileOtherExchanges(const std::string& one, const std::string& two,
                           const std::function<bool()>& act) const {
    std::atomic<bool> stop = false;
    std::thread other([&] {
      const std::string from = Outside("other/" + one);
      const std::string to = Outside("other/" + two);
      while (!stop) renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE);
    });
    int done = 0;
    for (int round = 0; round < 10'000 && !HasFailure(); ++round) done += act() ? 1 : 0;
    stop = true;
    other.join();
    EXPECT_GT(done, 0);
  }
};

TEST_F(ChangeLockTest, AChangeWaitsForAnotherGuardsChange) {
  PutRepository("r/.git");
  Start({"**/.env"}, {"r/.git"});
  UniqueFd held = Held("r/.git");
  int answer = -1;
  std::thread command([&] { answer = Make("r/.git/refs/heads"); });
  usleep(100'000);
  EXPECT_NE(access(Host("r/.git/refs/heads").c_str(), F_OK), 0) << "it has not waited";
  held.reset();
  command.join();
  EXPECT_EQ(answer, 0);
  EXPECT_EQ(access(Host("r/.git/refs/heads").c_str(), F_OK), 0);
}

TEST_F(ChangeLockTest, NothingIsChangedWhileSomebodyKeepsTheLock) {
  PutRepository("r/.git");
  Put("file", "text");
  Start({"**/.env"}, {"r/.git"});
  const UniqueFd open_file(open(Cell("file").c_str(), O_RDWR | O_CLOEXEC));
  const UniqueFd held = Held("r/.git");
  EXPECT_EQ(Make("r/.git/refs/heads"), EBUSY);
  EXPECT_EQ(Answer(rename(Cell("file").c_str(), Cell("r/.git/file").c_str())), EBUSY);
  EXPECT_EQ(Answer(pwrite(open_file.get(), "evil", 4, 0)), EBUSY);
  EXPECT_EQ(Answer(truncate(Cell("file").c_str(), 0)), EBUSY);
  EXPECT_EQ(Answer(open(Cell("file").c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC)), EBUSY);
  EXPECT_EQ(Text("file"), "text");
  EXPECT_EQ(TextOf(Cell("r/.git/HEAD")), kHead) << "reading waits for nobody";
}

TEST_F(ChangeLockTest, ALockIsGivenBackAfterEachAnswer) {
  PutRepository("r/.git");
  PutRepository("s/.git");
  Start({}, {"r/.git", "s/.git"});
  EXPECT_EQ(Make("r/.git/refs/heads"), 0);
  EXPECT_EQ(Make("r/.git/hooks/evil"), EROFS);
  for (const char* repository : {"r/.git", "s/.git"}) EXPECT_TRUE(Held(repository)) << repository;
}

// Neither guard lets a directory be renamed there; one has looked at a file, and the other puts a
// directory in its place.
TEST_F(ChangeLockTest, TwoGuardsDoTogetherOnlyWhatEachOfThemDoes) {
  PutRepository("r/.git");
  fs::create_directory(Host("r/.git/directory"));
  Put("r/.git/file", "text");
  Start({}, {"r/.git"});
  StartOther({}, {"r/.git"});
  const std::string target = "r/.git/worktrees/new";
  WhileOtherExchanges("r/.git/file", "r/.git/directory", [&] {
    if (rename(Cell("r/.git/file").c_str(), Cell(target).c_str()) != 0) return false;
    EXPECT_FALSE(fs::is_directory(Host(target)));
    Move(target, "r/.git/file");
    return true;
  });
}

// One exchanges a directory with a file, at one depth; the other renames the file to another depth,
// where the name in the directory would not be covered.
TEST_F(ChangeLockTest, ADirectoryIsNotRenamedAsTheFileThatWasThere) {
  Put("file", "text");
  Put("directory/key", "secret");
  fs::create_directory(Host("deep"));
  Start({"*/key"}, {});
  StartOther({"*/key"}, {});
  WhileOtherExchanges("file", "directory", [&] {
    if (rename(Cell("file").c_str(), Cell("deep/moved").c_str()) != 0) return false;
    EXPECT_NE(TextOf(Cell("deep/moved/key")), "secret");
    Move("deep/moved", "file");
    return true;
  });
}

TEST_F(ChangeLockTest, WhereNoPlaceIsAsAnotherNobodyWaitsForTheTree) {
  Put("file", "text");
  Start({"**/.env", "secrets/**"}, {});
  StartOther({"*/key"}, {});
  const UniqueFd held = Held("");
  EXPECT_EQ(Answer(rename(Cell("file").c_str(), Cell("renamed").c_str())), 0);
  EXPECT_EQ(Answer(rename(Outside("other/renamed").c_str(), Outside("other/file").c_str())), EBUSY);
}

// The same for what is linked: a socket of the host in the place of a file.
TEST_F(ChangeLockTest, ASocketIsNotLinkedAsTheFileThatWasThere) {
  Put("file", "text");
  ASSERT_EQ(mknod(Host("socket").c_str(), S_IFSOCK | 0600, 0), 0);
  Start({"**/.env"}, {});
  StartOther({"**/.env"}, {});
  WhileOtherExchanges("file", "socket", [&] {
    const bool linked = link(Cell("file").c_str(), Cell("second").c_str()) == 0;
    EXPECT_FALSE(fs::is_socket(Host("second"))) << "whatever the cell is told";
    return linked && unlink(Cell("second").c_str()) == 0;
  });
}

}  // namespace
}  // namespace odyssey::cell_guard
