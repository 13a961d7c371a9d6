// Two guards on one tree, of two cells.

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
  UniqueFd Held() const {
    UniqueFd fd(open(Host("").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    EXPECT_EQ(flock(fd.get(), LOCK_EX | LOCK_NB), 0) << errno;
    return fd;
  }

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

TEST_F(ChangeLockTest, ARenameGivesItBack) {
  Put("file", "text");
  Start({"*/key"});
  EXPECT_EQ(Answer(rename(Cell("file").c_str(), Cell("renamed").c_str())), 0);
  EXPECT_TRUE(Held());
}

// One exchanges a directory with a file, at one depth; the other renames the file to another depth,
// where the name in the directory would not be covered.
TEST_F(ChangeLockTest, ADirectoryIsNotRenamedAsTheFileThatWasThere) {
  Put("file", "text");
  Put("directory/key", "secret");
  fs::create_directory(Host("deep"));
  Start({"*/key"});
  StartOther({"*/key"});
  WhileOtherExchanges("file", "directory", [&] {
    if (rename(Cell("file").c_str(), Cell("deep/moved").c_str()) != 0) return false;
    EXPECT_NE(TextOf(Cell("deep/moved/key")), "secret");
    Move("deep/moved", "file");
    return true;
  });
}

TEST_F(ChangeLockTest, WhereNoPlaceIsAsAnotherNobodyWaitsForTheTree) {
  Put("file", "text");
  Start({"**/.env", "secrets/**"});
  StartOther({"*/key"});
  const UniqueFd held = Held();
  EXPECT_EQ(Answer(rename(Cell("file").c_str(), Cell("renamed").c_str())), 0);
  EXPECT_EQ(Answer(rename(Outside("other/renamed").c_str(), Outside("other/file").c_str())), EBUSY);
}

}  // namespace
}  // namespace odyssey::cell_guard
