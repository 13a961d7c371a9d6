// Two guards on one repository: of two cells, or of two trees of one.

#include "supervisor/cell_guard/change_lock.h"

#include <sys/file.h>

#include <atomic>
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
  std::atomic<bool> stop = false;
  std::thread other([&] {
    const std::string one = Outside("other/r/.git/file");
    const std::string two = Outside("other/r/.git/directory");
    while (!stop) renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, two.c_str(), RENAME_EXCHANGE);
  });
  const std::string target = "r/.git/worktrees/new";
  int moved = 0;
  for (int round = 0; round < 10'000 && !HasFailure(); ++round) {
    if (rename(Cell("r/.git/file").c_str(), Cell(target).c_str()) != 0) continue;
    ++moved;
    EXPECT_FALSE(fs::is_directory(Host(target))) << "round " << round;
    Move(target, "r/.git/file");
  }
  stop = true;
  other.join();
  EXPECT_GT(moved, 0);
}

}  // namespace
}  // namespace odyssey::cell_guard
