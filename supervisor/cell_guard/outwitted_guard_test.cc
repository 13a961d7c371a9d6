// What a command does so that the guard judges one thing and another is done, or so that it judges
// nothing any more.

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "supervisor/cell_guard/guard_fixture.h"

namespace odyssey::cell_guard {
namespace {

namespace fs = std::filesystem;

class OutwittedGuardTest : public GuardFixture {
 protected:
  UniqueFd Opened(const std::string& path, int flags) const {
    return UniqueFd(open(Cell(path).c_str(), flags | O_CLOEXEC, 0644));
  }
};

TEST_F(OutwittedGuardTest, WhatIsMappedIsWrittenWhereItWasMapped) {
  Start({"**/.env"});
  const UniqueFd fd = Opened("file", O_RDWR | O_CREAT | O_APPEND);
  ASSERT_EQ(write(fd.get(), "one two", 7), 7);
  void* at = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  ASSERT_NE(at, MAP_FAILED);
  std::copy_n("ONE", 3, static_cast<char*>(at));
  EXPECT_EQ(msync(at, 4096, MS_SYNC), 0);
  munmap(at, 4096);
  EXPECT_EQ(Text("file"), "ONE two");
  EXPECT_EQ(write(fd.get(), " three", 6), 6);
  EXPECT_EQ(Text("file"), "ONE two three");
}

TEST_F(OutwittedGuardTest, WhatTwoAppendIsAllThere) {
  Put("log", "");
  Start({"**/.env"});
  const UniqueFd cell = Opened("log", O_WRONLY | O_APPEND);
  const UniqueFd host(open(Host("log").c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
  std::string expected;
  for (int i = 0; i < 20; ++i) {
    for (const UniqueFd* fd : {&cell, &host}) {
      const std::string line = std::to_string(expected.size()) + "\n";
      ASSERT_EQ(write(fd->get(), line.data(), line.size()), static_cast<ssize_t>(line.size()));
      expected += line;
    }
  }
  EXPECT_EQ(Text("log"), expected);
}

TEST_F(OutwittedGuardTest, WhoeverOpensAllThatItMayLeavesItEnoughToJudge) {
  constexpr rlim_t kMost = 200;
  Put("plain", "text");
  Start({"**/.env"});
  const UniqueFd held = Opened("file", O_RDWR | O_CREAT);
  LimitOpenFiles(kMost);
  std::vector<UniqueFd> opened;
  for (;;) {
    UniqueFd fd = Opened("plain", O_RDONLY);
    if (!fd) break;
    opened.push_back(std::move(fd));
  }
  EXPECT_EQ(errno, EMFILE);
  EXPECT_GT(opened.size(), kMost / 2);
  EXPECT_LT(opened.size(), kMost - 32);
  EXPECT_EQ(Answer(mkdir(Cell("made").c_str(), 0755)), 0) << "what opens nothing goes on";
  Move("file", ".env");
  while (!opened.empty()) {
    EXPECT_EQ(Answer(pwrite(held.get(), "evil", 4, 0)), EACCES) << opened.size();
    opened.pop_back();
  }
}

// The two looks at the name have found different files, and the kernel asks to exchange it with
// itself.
TEST_F(OutwittedGuardTest, ANameThatIsExchangedWithItselfKeepsNobodyWaiting) {
  const std::string name = "r/.git/refs/heads/k";
  Put(name, "file");
  fs::create_directories(Host("r/.git/refs/d"));
  Start({"**/.env"});
  std::atomic<bool> done = false;
  std::thread host([&] {
    while (!done) {
      renameat2(AT_FDCWD, Host(name).c_str(), AT_FDCWD, Host("r/.git/refs/d").c_str(),
                RENAME_EXCHANGE);
    }
  });
  for (int i = 0; i < 3000; ++i) {
    const std::string path = Cell(name);
    renameat2(AT_FDCWD, path.c_str(), AT_FDCWD, path.c_str(), RENAME_EXCHANGE);
  }
  done = true;
  host.join();
  EXPECT_EQ(Answer(access(Cell("r/.git/refs").c_str(), F_OK)), 0);
}

// The kernel still knows the file in the directory, and no more that the directory had this name.
TEST_F(OutwittedGuardTest, AFileThatIsRenamedToWhereItsDirectoryWasKeepsNobodyWaiting) {
  Put("d/k", "text");
  Start({"**/.env"});
  const UniqueFd directory = Opened("d", O_RDONLY | O_DIRECTORY);
  struct stat info;
  std::this_thread::sleep_for(std::chrono::milliseconds(700));  // of the second that names are kept
  ASSERT_EQ(fstatat(directory.get(), "k", &info, 0), 0);
  Move("d", "moved");
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  (void)renameat(directory.get(), "k", AT_FDCWD, Cell("d").c_str());
  EXPECT_EQ(Answer(access(Cell("moved/k").c_str(), F_OK)), 0);
}

}  // namespace
}  // namespace odyssey::cell_guard
