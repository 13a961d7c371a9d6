// Locks of a cell's commands against those of the host, of another cell, and of each other.

#include "supervisor/cell_guard/file_locks.h"

#include <sys/file.h>

#include <atomic>
#include <functional>
#include <thread>

#include "supervisor/cell_guard/guard_fixture.h"

namespace odyssey::cell_guard {
namespace {

constexpr int kRounds = 500;
constexpr useconds_t kAWhileUs = 100'000;

// A lock of one kind: 0, or the errno.
struct Kind {
  const char* name;
  std::function<int(int fd, short type, bool wait)> lock;
};

int LockRange(int fd, int command, short type, off_t start, off_t bytes) {
  struct flock range {};
  range.l_type = type;
  range.l_start = start;
  range.l_len = bytes;
  return fcntl(fd, command, &range) == 0 ? 0 : errno;
}

const Kind kKinds[] = {
    {"flock",
     [](int fd, short type, bool wait) {
       const int operation = type == F_UNLCK ? LOCK_UN : type == F_WRLCK ? LOCK_EX : LOCK_SH;
       return flock(fd, operation | (wait ? 0 : LOCK_NB)) == 0 ? 0 : errno;
     }},
    {"process", [](int fd, short type,
                   bool wait) { return LockRange(fd, wait ? F_SETLKW : F_SETLK, type, 0, 0); }},
    {"open file",
     [](int fd, short type, bool wait) {
       return LockRange(fd, wait ? F_OFD_SETLKW : F_OFD_SETLK, type, 0, 0);
     }},
};

UniqueFd Open(const std::string& path, int flags = O_RDWR) {
  return UniqueFd(open(path.c_str(), flags | O_CREAT | O_CLOEXEC, 0644));
}

// In a process of its own: what it answers, 0 to 255.
int InChild(const std::function<int()>& act) {
  const pid_t child = fork();
  if (child == 0) _exit(act());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class FileLocksTest : public GuardFixture {
 protected:
  std::string Other(const std::string& path) const { return Outside("other/" + path); }
};

TEST_F(FileLocksTest, HoldAgainstTheHostAndOtherCells) {
  Start({"**/.env"});
  StartOther({"**/.env"});
  const std::string sides[] = {Cell("file"), Host("file"), Other("file")};
  for (const Kind& kind : kKinds) {
    for (const std::string& one : sides) {
      for (const std::string& two : sides) {
        if (one == two) continue;
        UniqueFd first = Open(one);
        // Waits: the kernel tells a guard of a close(2) when that has returned.
        EXPECT_EQ(kind.lock(first.get(), F_RDLCK, true), 0) << kind.name << one;
        const auto try_other = [&](short type) {
          return InChild([&] { return kind.lock(Open(two).get(), type, false); });
        };
        EXPECT_EQ(try_other(F_RDLCK), 0) << kind.name << one << two;
        EXPECT_EQ(try_other(F_WRLCK), EAGAIN) << kind.name << one << two;
        EXPECT_EQ(kind.lock(first.get(), F_WRLCK, true), 0) << kind.name;
        EXPECT_EQ(try_other(F_RDLCK), EAGAIN) << kind.name << one << two;
        EXPECT_EQ(kind.lock(first.get(), F_UNLCK, false), 0) << kind.name;
        EXPECT_EQ(try_other(F_WRLCK), 0) << kind.name << one << two;
        EXPECT_EQ(kind.lock(first.get(), F_WRLCK, true), 0) << kind.name;
        first.reset();
        EXPECT_EQ(InChild([&] { return kind.lock(Open(two).get(), F_WRLCK, true); }), 0)
            << kind.name << ": closed, and still locked";
      }
    }
  }
}

TEST_F(FileLocksTest, WhoWaitsGetsItAndKeepsNobodyElseWaiting) {
  Start({"**/.env"});
  StartOther({"**/.env"});
  for (const Kind& kind : kKinds) {
    for (const std::string& holder : {Cell("file"), Host("file"), Other("file")}) {
      UniqueFd held = Open(holder);
      // Waits: the kernel tells a guard of the last close when nobody waits for that any more.
      ASSERT_EQ(kind.lock(held.get(), F_WRLCK, true), 0);
      std::atomic<bool> has_it = false;
      std::thread command([&] {
        EXPECT_EQ(InChild([&] { return kind.lock(Open(Cell("file")).get(), F_WRLCK, true); }), 0);
        has_it = true;
      });
      usleep(kAWhileUs);
      EXPECT_FALSE(has_it) << kind.name << holder;
      EXPECT_EQ(Answer(mkdir(Cell("d").c_str(), 0755)), 0) << "the guard serves others meanwhile";
      EXPECT_EQ(Answer(rmdir(Cell("d").c_str())), 0);
      EXPECT_EQ(kind.lock(held.get(), F_UNLCK, false), 0);
      command.join();
    }
  }
}

TEST_F(FileLocksTest, WhoGivesUpWaitingDoesNotGetIt) {
  Start({"**/.env"});
  for (const Kind& kind : kKinds) {
    UniqueFd held = Open(Host("file"));
    ASSERT_EQ(kind.lock(held.get(), F_WRLCK, false), 0);
    const int answer = InChild([&] {
      struct sigaction action {};
      action.sa_handler = [](int) {};
      sigaction(SIGALRM, &action, nullptr);
      ualarm(kAWhileUs, 0);
      const UniqueFd fd = Open(Cell("file"));
      const int first = kind.lock(fd.get(), F_WRLCK, true);
      kind.lock(held.get(), F_UNLCK, false);
      usleep(kAWhileUs);
      return first == EINTR ? kind.lock(Open(Host("file")).get(), F_WRLCK, false) : first;
    });
    // A lock of fcntl(2) is the parent's, and its child cannot give it back.
    EXPECT_EQ(answer, std::string(kind.name) == "process" ? EAGAIN : 0) << kind.name;
  }
}

TEST_F(FileLocksTest, OfAProcessAreOneWhateverDescriptorItUses) {
  Start({"**/.env"});
  const UniqueFd one = Open(Cell("file"));
  EXPECT_EQ(LockRange(one.get(), F_SETLK, F_WRLCK, 0, 0), 0);
  EXPECT_EQ(LockRange(one.get(), F_SETLK, F_UNLCK, 0, 0), 0);
  UniqueFd two = Open(Cell("file"), O_RDONLY);
  const auto try_host = [&] {
    return InChild([&] { return LockRange(Open(Host("file")).get(), F_SETLK, F_WRLCK, 0, 0); });
  };
  EXPECT_EQ(LockRange(two.get(), F_SETLK, F_RDLCK, 0, 10), 0);
  EXPECT_EQ(LockRange(one.get(), F_SETLK, F_WRLCK, 0, 10), 0) << "a lock of its own";
  EXPECT_EQ(LockRange(two.get(), F_SETLK, F_UNLCK, 0, 0), 0);
  EXPECT_EQ(try_host(), 0);
  EXPECT_EQ(LockRange(one.get(), F_SETLK, F_WRLCK, 0, 10), 0);
  EXPECT_EQ(InChild([&] { return LockRange(one.get(), F_SETLK, F_WRLCK, 5, 1); }), EAGAIN);
  EXPECT_EQ(try_host(), EAGAIN);
  two.reset();
  EXPECT_EQ(try_host(), 0) << "a process that closes any of them has none";
}

// The kernel tells nothing of such a close (FOPEN_NOFLUSH) but the last.
TEST_F(FileLocksTest, TheFirstInADirectoryOfWhatIsOnlyReadGoesWithItsOpenFile) {
  Put("d/file", "text");
  Start({"**/.env"});
  UniqueFd fd(open(Cell("d/file").c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(LockRange(fd.get(), F_SETLK, F_RDLCK, 0, 0), 0);
  EXPECT_EQ(LockRange(Open(Host("d/file")).get(), F_OFD_SETLK, F_WRLCK, 0, 0), EAGAIN);
  fd.reset();
  EXPECT_EQ(LockRange(Open(Host("d/file")).get(), F_OFD_SETLKW, F_WRLCK, 0, 0), 0);
}

TEST_F(FileLocksTest, AreOfTheBytesThatTheyName) {
  Start({"**/.env"});
  const UniqueFd cell = Open(Cell("file"));
  const UniqueFd host = Open(Host("file"));
  ASSERT_EQ(LockRange(cell.get(), F_SETLK, F_WRLCK, 10, 5), 0);
  EXPECT_EQ(LockRange(host.get(), F_SETLK, F_WRLCK, 0, 10), 0);
  EXPECT_EQ(LockRange(host.get(), F_SETLK, F_WRLCK, 14, 1), EAGAIN);
  EXPECT_EQ(LockRange(host.get(), F_SETLK, F_WRLCK, 15, 0), 0);
  struct flock found {};
  found.l_type = F_RDLCK;
  found.l_start = 12;
  ASSERT_EQ(fcntl(cell.get(), F_GETLK, &found), 0);
  EXPECT_EQ(found.l_type, F_WRLCK);
  EXPECT_EQ(found.l_start, 15);
  EXPECT_EQ(found.l_len, 0);
  found = {};
  found.l_type = F_WRLCK;
  found.l_start = 10;
  found.l_len = 5;
  ASSERT_EQ(fcntl(cell.get(), F_GETLK, &found), 0);
  EXPECT_EQ(found.l_type, F_UNLCK);
}

// Reads a number and writes it with one more, from the cell and beside it.
TEST_F(FileLocksTest, WhoHasOneSeesWhatOthersWroteUnderTheirs) {
  Start({"**/.env"});
  StartOther({"**/.env"});
  for (const Kind& kind : kKinds) {
    Put("file", std::string(sizeof(int), '\0'));
    const auto count = [&](const std::string& path) {
      const UniqueFd fd = Open(path);
      for (int round = 0; round < kRounds; ++round) {
        int number = 0;
        if (kind.lock(fd.get(), F_WRLCK, true) != 0) return 1;
        if (pread(fd.get(), &number, sizeof(number), 0) != sizeof(number)) return 2;
        ++number;
        if (pwrite(fd.get(), &number, sizeof(number), 0) != sizeof(number)) return 3;
        if (kind.lock(fd.get(), F_UNLCK, false) != 0) return 4;
      }
      return 0;
    };
    std::vector<std::thread> all;
    for (const std::string& path : {Cell("file"), Cell("file"), Other("file"), Host("file")}) {
      all.emplace_back([&count, path] { EXPECT_EQ(InChild([&] { return count(path); }), 0); });
    }
    for (std::thread& one : all) one.join();
    int number = 0;
    ASSERT_EQ(pread(Open(Host("file")).get(), &number, sizeof(number), 0), sizeof(number));
    EXPECT_EQ(number, 4 * kRounds) << kind.name;
  }
}

TEST_F(FileLocksTest, OfACoveredNameAreRefused) {
  Start({"**/.env"});
  const UniqueFd fd = Open(Cell("file"));
  Move("file", ".env");
  for (const Kind& kind : kKinds) {
    EXPECT_EQ(kind.lock(fd.get(), F_WRLCK, false), EACCES) << kind.name;
    EXPECT_EQ(kind.lock(fd.get(), F_WRLCK, true), EACCES) << kind.name;
  }
}

TEST_F(FileLocksTest, TakeNoDescriptorThatTheGuardJudgesWith) {
  Start({"**/.env"});
  constexpr rlim_t kFiles = 100;
  LimitOpenFiles(kFiles);
  std::vector<UniqueFd> files;
  while (UniqueFd fd = Open(Cell(std::to_string(files.size())))) files.push_back(std::move(fd));
  ASSERT_GT(files.size(), 1u);
  size_t taken = 0;
  for (const UniqueFd& fd : files) {
    const int error = LockRange(fd.get(), F_OFD_SETLK, F_WRLCK, 0, 0);
    EXPECT_TRUE(error == 0 || error == ENOLCK) << error;
    taken += error == 0 ? 1 : 0;
  }
  EXPECT_LE(taken, 1u);  // an open takes two for a moment
  files.pop_back();
  files.resize(files.size() - 2);
  EXPECT_EQ(access(Cell("nothing").c_str(), F_OK), -1) << "after which the guard has closed them";
  EXPECT_EQ(LockRange(files.back().get(), F_OFD_SETLK, F_WRLCK, 0, 0), 0);
}

// In the kernel's memory, which no control group counts. One that is unlocked whole makes room.
TEST_F(FileLocksTest, OfRangesAreBounded) {
  Start({"**/.env"});
  constexpr int kOfAFile = 1024;
  constexpr size_t kFiles = FileLocks::kMostRanges / kOfAFile;
  std::vector<UniqueFd> files;
  size_t locked = 0;
  int error = 0;
  while (error == 0 && files.size() <= kFiles) {
    files.push_back(Open(Cell("f" + std::to_string(files.size()))));
    for (int i = 0; i < kOfAFile && error == 0; ++i) {
      error = LockRange(files.back().get(), F_SETLK, F_WRLCK, 2 * i, 1);
      if (error == 0) ++locked;
    }
  }
  EXPECT_EQ(error, ENOLCK);
  EXPECT_LE(locked, FileLocks::kMostRanges);
  EXPECT_GT(locked, FileLocks::kMostRanges / 2);
  EXPECT_EQ(LockRange(files[0].get(), F_SETLK, F_UNLCK, 0, 0), 0);
  EXPECT_EQ(LockRange(files[0].get(), F_SETLK, F_WRLCK, 0, 1), 0);
}

// Its name may be covered when the lock is free.
TEST_F(FileLocksTest, WhoWaitsIsJudgedByWhatThereIsThen) {
  Start({"**/.env"});
  for (const Kind& kind : kKinds) {
    UniqueFd held = Open(Host("file"));
    ASSERT_EQ(kind.lock(held.get(), F_WRLCK, false), 0);
    const UniqueFd fd = Open(Cell("file"));  // here, else a slow child makes a new file
    ASSERT_TRUE(fd);
    std::thread command([&] {
      EXPECT_EQ(InChild([&] { return kind.lock(fd.get(), F_WRLCK, true); }), EACCES) << kind.name;
    });
    usleep(kAWhileUs);
    ASSERT_EQ(rename(Host("file").c_str(), Host(".env").c_str()), 0);
    EXPECT_EQ(kind.lock(held.get(), F_UNLCK, false), 0);
    command.join();
    unlink(Host(".env").c_str());
  }
}

// What only reads has the kernel's copy of the file.
TEST_F(FileLocksTest, AreOfTheFileAsItIsThen) {
  Put("file", "1");
  Start({"**/.env"});
  for (const Kind& kind : kKinds) {
    const UniqueFd fd = Open(Cell("file"));
    const UniqueFd host = Open(Host("file"));
    for (const char text : {'1', '2', '3'}) {
      ASSERT_EQ(pwrite(host.get(), &text, 1, 0), 1);
      ASSERT_EQ(kind.lock(fd.get(), F_RDLCK, true), 0);
      char seen = 0;
      ASSERT_EQ(pread(fd.get(), &seen, 1, 0), 1);
      EXPECT_EQ(seen, text) << kind.name;
      ASSERT_EQ(kind.lock(fd.get(), F_UNLCK, false), 0);
    }
  }
}

}  // namespace
}  // namespace odyssey::cell_guard
