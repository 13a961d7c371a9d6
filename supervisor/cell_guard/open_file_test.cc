// A descriptor that a cell has, while the host gives its file other names.

#include "supervisor/cell_guard/open_file.h"

#include <dirent.h>
#include <sys/mman.h>

#include <atomic>
#include <memory>
#include <thread>

#include "supervisor/cell_guard/guard_fixture.h"

namespace odyssey::cell_guard {
namespace {

namespace fs = std::filesystem;

constexpr int kRounds = 1000;

// A host that exchanges two names as fast as it can.
class Swapping final {
 public:
  Swapping(const std::string& one, const std::string& other)
      : thread_([this, one, other] {
          while (!stop_) {
            renameat2(AT_FDCWD, one.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE);
          }
        }) {}
  ~Swapping() {
    stop_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> stop_ = false;
  std::thread thread_;
};

class OpenFileTest : public GuardFixture {
 protected:
  UniqueFd Open(const std::string& path, int flags) const {
    return UniqueFd(open(Cell(path).c_str(), flags | O_CLOEXEC, 0644));
  }
  static void ExpectEachCall(int fd, int expected, const std::string& where) {
    EXPECT_EQ(Answer(pwrite(fd, "evil", 4, 0)), expected) << where;
    EXPECT_EQ(Answer(ftruncate(fd, 1)), expected) << where;
    EXPECT_EQ(Answer(fallocate(fd, 0, 0, 100)), expected) << where;
  }
  // Every way to change the file of a descriptor, a mapping too.
  static void ExpectEachChange(int fd, int expected, const std::string& where) {
    ExpectEachCall(fd, expected, where);
    void* mapped = mmap(nullptr, 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    ASSERT_NE(mapped, MAP_FAILED);
    *static_cast<volatile char*>(mapped) = 'E';
    EXPECT_EQ(msync(mapped, 1, MS_SYNC) == 0, expected == 0) << where;
    munmap(mapped, 1);
  }
};

TEST_F(OpenFileTest, IsJudgedByTheNameThatItHasNow) {
  Start({"**/.env", "vault/**"});
  int number = 0;
  for (const std::string to : {".env", "d/.env", "vault/x", "vault/a/b"}) {
    const std::string from = std::to_string(++number);
    const UniqueFd fd = Open(from, O_RDWR | O_CREAT);
    ASSERT_EQ(pwrite(fd.get(), "text", 4, 0), 4) << from;
    Move(from, to);
    ExpectEachCall(fd.get(), EACCES, to);
    EXPECT_EQ(Text(to), "text") << to;
    Move(to, from);
    ExpectEachChange(fd.get(), 0, "back again from " + to);
  }
}

TEST_F(OpenFileTest, ADirectoryAboveItMayHaveMoved) {
  Start({"vault/**"});
  ASSERT_EQ(mkdir(Cell("own").c_str(), 0755), 0);
  const UniqueFd fd = Open("own/key", O_RDWR | O_CREAT);
  ASSERT_EQ(pwrite(fd.get(), "text", 4, 0), 4);
  Move("own", "vault/own");
  ExpectEachCall(fd.get(), EACCES, "in the vault");
  EXPECT_EQ(Text("vault/own/key"), "text");
}

TEST_F(OpenFileTest, OfACoveredNameIsNeitherReadNorWritten) {
  Put("file", "text");
  Put("d/key", "text");
  Start({"**/.env", "secrets/**"});
  const UniqueFd fd = Open("file", O_RDWR);
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(Cell("d").c_str()), closedir);
  ASSERT_TRUE(directory);
  Move("file", ".env");
  Put(".env", "secret");
  Move("d", "secrets/d");
  char text[16];
  EXPECT_EQ(Answer(pread(fd.get(), text, sizeof(text), 0)), EACCES);
  ExpectEachCall(fd.get(), EACCES, ".env");
  EXPECT_EQ(Text(".env"), "secret");
  errno = 0;
  EXPECT_EQ(readdir(directory.get()), nullptr);
  EXPECT_EQ(errno, EACCES);
}

TEST_F(OpenFileTest, AListedDirectoryIsJudgedWhereItIsNow) {
  Put("d/key", "text");
  Put("d/open", "text");
  fs::create_directory(Host("vault"));
  Start({"vault/*/key"});
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(opendir(Cell("d").c_str()), closedir);
  ASSERT_TRUE(directory);
  Move("d", "vault/d");
  std::string names;
  while (const dirent* entry = readdir(directory.get())) {
    if (entry->d_name[0] != '.') names += entry->d_name;
  }
  EXPECT_EQ(names, "open");
}

TEST_F(OpenFileTest, BeyondTheTreeOrWithOnlyAnotherNameItIsNotChanged) {
  Start({"**/.env"});
  const UniqueFd out = Open("out", O_RDWR | O_CREAT);
  ASSERT_EQ(rename(Host("out").c_str(), Outside("out").c_str()), 0);
  ExpectEachCall(out.get(), EACCES, "outside");
  const UniqueFd other = Open("other", O_RDWR | O_CREAT);
  ASSERT_EQ(link(Host("other").c_str(), Host("second").c_str()), 0);
  ASSERT_EQ(unlink(Host("other").c_str()), 0);
  ExpectEachCall(other.get(), EACCES, "the other name");
  char text[1];
  EXPECT_EQ(Answer(pread(other.get(), text, 1, 0)), EACCES);
  Put("other (deleted)", "text");
  ExpectEachCall(other.get(), EACCES, "another file is called so");
  const UniqueFd odd = Open("odd (deleted)", O_RDWR | O_CREAT);
  ExpectEachChange(odd.get(), 0, "called so");
}

TEST_F(OpenFileTest, ATreeThatTheHostRenamesGoesOn) {
  fs::create_directory(Host("vault"));
  Start({"vault/**"});
  const UniqueFd fd = Open("file", O_RDWR | O_CREAT);
  ASSERT_EQ(rename(Outside("host").c_str(), Outside("renamed").c_str()), 0);
  ExpectEachChange(fd.get(), 0, "renamed");
  ASSERT_EQ(rename(Outside("renamed/file").c_str(), Outside("renamed/vault/file").c_str()), 0);
  ExpectEachCall(fd.get(), EACCES, "renamed");
  ASSERT_EQ(rename(Outside("renamed").c_str(), Outside("host").c_str()), 0);
}

// The host moves a file to and fro while a command of the cell writes. A write that the guard let
// through just before counts as one before the rename: at most one is seen after it.
TEST_F(OpenFileTest, NoWriteBeginsAfterTheHostHasRenamed) {
  Start({"vault/**"});
  const UniqueFd fd = Open("file", O_RDWR | O_CREAT);
  std::atomic<unsigned> begun = 0;
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    while (!stop) {
      const unsigned number = ++begun;
      [[maybe_unused]] const ssize_t written = pwrite(fd.get(), &number, sizeof(number), 0);
    }
  });
  const auto await_writes = [&](unsigned count) {
    const unsigned from = begun;
    while (begun - from < count) std::this_thread::yield();
  };
  const auto content = [&](const char* path) { return Text(path); };
  for (int round = 0; round < kRounds && !HasFailure(); ++round) {
    Move("file", "vault/file");
    await_writes(2);  // the one that was under way has ended
    const std::string before = content("vault/file");
    await_writes(3);
    EXPECT_EQ(content("vault/file"), before) << round;
    Move("vault/file", "file");
    const std::string written = content("file");
    await_writes(3);
    EXPECT_NE(content("file"), written) << round;
  }
  stop = true;
  writer.join();
}

// Every call on a file by its name, none of which follows a link by itself.
void TryEverything(const std::string& name, const std::string& second) {
  const UniqueFd held(open(name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  const std::string file = "/proc/self/fd/" + std::to_string(held.get());
  const timespec times[2] = {{1, 0}, {1, 0}};
  (void)!chmod(file.c_str(), 0666);
  (void)!truncate(file.c_str(), 0);
  (void)!lchown(name.c_str(), 0, 0);
  (void)!utimensat(AT_FDCWD, name.c_str(), times, AT_SYMLINK_NOFOLLOW);
  (void)!link(name.c_str(), second.c_str());
  struct stat info {};
  const bool is_file = fstat(held.get(), &info) == 0 && S_ISREG(info.st_mode);
  for (const int flags : {O_RDWR, O_RDONLY, O_WRONLY | O_TRUNC}) {
    if (!is_file) break;  // a pipe would wait
    const UniqueFd fd(open(file.c_str(), flags | O_CLOEXEC));
    char text[16] = {};
    (void)!read(fd.get(), text, sizeof(text) - 1);
    EXPECT_STRNE(text, "of the host");
    (void)!write(fd.get(), "evil", 4);
  }
}

// The kernel knows a file by a name; the host puts something else in its place, and takes it away
// again.
TEST_F(OpenFileTest, NoOperationGoesWhereASwappedLinkLeads) {
  Put("victim", "of the host");
  Put("secrets/victim", "of the host");
  std::ofstream(Outside("victim")) << "of the host";
  Start({"secrets/**"});
  for (const std::string& target :
       {std::string("victim"), std::string("secrets/victim"), Outside("victim")}) {
    const std::string victim = fs::path(Host("")) / target;
    for (const char* name : {"name", "link"}) fs::remove(Host(name));
    Put("name", "text");
    ASSERT_EQ(symlink(target.c_str(), Host("link").c_str()), 0);
    struct stat before;
    ASSERT_EQ(stat(victim.c_str(), &before), 0);
    const Swapping host(Host("name"), Host("link"));
    for (int round = 0; round < kRounds && !HasFailure(); ++round) {
      TryEverything(Cell("name"), Cell("second"));
      struct stat after;
      ASSERT_EQ(stat(victim.c_str(), &after), 0);
      EXPECT_EQ(after.st_ctim.tv_nsec, before.st_ctim.tv_nsec) << target;
      EXPECT_EQ(after.st_nlink, 1u) << target;
      (void)!unlink(Cell("second").c_str());
      struct stat info {};
      (void)!lstat(Cell("name").c_str(), &info);
      EXPECT_NE(info.st_ino, before.st_ino) << target;
    }
    EXPECT_EQ(TextOf(victim), "of the host") << target;
  }
}

TEST_F(OpenFileTest, APipeThatWasSwappedInKeepsNobodyWaiting) {
  Put("name", "text");
  ASSERT_EQ(mkfifo(Host("pipe").c_str(), 0644), 0);
  Start({".env"});
  const Swapping host(Host("name"), Host("pipe"));
  for (int round = 0; round < kRounds; ++round) TryEverything(Cell("name"), Cell("second"));
}

TEST_F(OpenFileTest, ADirectoryThatWasSwappedForALinkIsNotLookedInto) {
  Put("d/mine", "of the cell");
  Put("secrets/key", "of the host");
  Put("d/key", "of the cell");
  ASSERT_EQ(symlink("secrets", Host("link").c_str()), 0);
  Start({"secrets/**"});
  const Swapping host(Host("d"), Host("link"));
  for (int round = 0; round < kRounds && !HasFailure(); ++round) {
    UniqueFd fd(open(Cell("d").c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    const UniqueFd key(openat(fd.get(), "key", O_RDONLY | O_CLOEXEC));
    char text[16] = {};
    (void)!read(key.get(), text, sizeof(text) - 1);
    EXPECT_STRNE(text, "of the host");
    const std::unique_ptr<DIR, int (*)(DIR*)> directory(fdopendir(fd.get()), closedir);
    if (!directory) continue;
    (void)fd.release();  // the stream's now
    std::string names;
    while (const dirent* entry = readdir(directory.get())) {
      if (entry->d_name[0] != '.') names += entry->d_name;
    }
    EXPECT_NE(names, "key");
  }
}

TEST_F(OpenFileTest, AccessDoesNotFollowALinkThatWasSwappedIn) {
  Put("name", "text");
  ASSERT_EQ(symlink(".env", Host("link").c_str()), 0);
  Start({".env"});
  const Swapping host(Host("name"), Host("link"));
  // Where the kernel follows the link, the name that it leads to is covered: EACCES. That nothing
  // has this name only a guard that followed would say.
  size_t followed = 0;
  for (int round = 0; round < 20 * kRounds; ++round) {
    if (Answer(access(Cell("name").c_str(), R_OK)) == ENOENT) ++followed;
  }
  EXPECT_EQ(followed, 0u);
}

TEST_F(OpenFileTest, OfWhichNothingIsKnownIsNotChanged) {
  Put("file", "text");
  const auto expect_refused = [](const OpenFile& file) { EXPECT_EQ(file.Refusal(), EACCES); };
  const UniqueFd fd(open(Host("file").c_str(), O_RDWR | O_CLOEXEC));
  GuardedTree tree;
  expect_refused(OpenFile(tree, fd.get()));
  tree.root_path = "/";
  expect_refused(OpenFile(tree, -1));
  EXPECT_EQ(OpenFile(tree, fd.get()).Refusal(), 0);
  ASSERT_EQ(mount("none", "/proc", "tmpfs", 0, nullptr), 0);
  expect_refused(OpenFile(tree, fd.get()));
  ASSERT_EQ(umount("/proc"), 0);
}

}  // namespace
}  // namespace odyssey::cell_guard
