// Each operation through a real mount: on names that are covered, on those that git obeys or needs,
// and on others.

#include "supervisor/cell_guard/guard.h"

#include <dirent.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <functional>
#include <set>
#include <thread>

#include "supervisor/cell_guard/guard_fixture.h"

namespace odyssey::cell_guard {
namespace {

namespace fs = std::filesystem;

class GuardTest : public GuardFixture {
 protected:
  struct Operation {
    const char* name;
    std::function<long(const std::string&)> run;  // as a system call answers
  };

  static long Opened(const std::string& path, int flags) {
    const UniqueFd fd(open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK, 0644));
    return fd ? 0 : -1;
  }
  static std::vector<Operation> Reading() {
    struct stat info;
    return {{"stat", [&info](const std::string& p) { return lstat(p.c_str(), &info); }},
            {"access", [](const std::string& p) { return access(p.c_str(), F_OK); }},
            {"open", [](const std::string& p) { return Opened(p, O_RDONLY); }},
            {"path", [](const std::string& p) { return Opened(p, O_PATH); }}};
  }
  // Of what is there: each would succeed on a file of the cell's own.
  std::vector<Operation> Changing() const {
    return {
        {"write", [](const std::string& p) { return Opened(p, O_WRONLY); }},
        {"read and write", [](const std::string& p) { return Opened(p, O_RDWR); }},
        {"append", [](const std::string& p) { return Opened(p, O_WRONLY | O_APPEND); }},
        {"open truncating", [](const std::string& p) { return Opened(p, O_WRONLY | O_TRUNC); }},
        {"read truncating", [](const std::string& p) { return Opened(p, O_RDONLY | O_TRUNC); }},
        {"truncate", [](const std::string& p) { return truncate(p.c_str(), 1); }},
        {"chmod", [](const std::string& p) { return chmod(p.c_str(), 0600); }},
        {"chown", [](const std::string& p) { return lchown(p.c_str(), 0, 0); }},
        {"second name",
         [this](const std::string& p) { return link(p.c_str(), Cell("second").c_str()); }},
        {"away", [this](const std::string& p) { return rename(p.c_str(), Cell("away").c_str()); }}};
  }
  // Of what is not there.
  std::vector<Operation> Making() const {
    return {
        {"create", [](const std::string& p) { return Opened(p, O_WRONLY | O_CREAT | O_EXCL); }},
        {"create reading", [](const std::string& p) { return Opened(p, O_RDONLY | O_CREAT); }},
        {"mkdir", [](const std::string& p) { return mkdir(p.c_str(), 0755); }},
        {"mkfifo", [](const std::string& p) { return mkfifo(p.c_str(), 0644); }},
        {"mknod", [](const std::string& p) { return mknod(p.c_str(), S_IFREG | 0644, 0); }},
        {"symlink", [](const std::string& p) { return symlink("plain", p.c_str()); }},
        {"link", [this](const std::string& p) { return link(Cell("plain").c_str(), p.c_str()); }},
        {"rename", [this](const std::string& p) { return Renamed("plain", p, 0); }},
        {"directory", [this](const std::string& p) { return Renamed("d", p, 0); }}};
  }
  long Renamed(const std::string& from, const std::string& to, unsigned flags) const {
    return renameat2(AT_FDCWD, Cell(from).c_str(), AT_FDCWD, to.c_str(), flags);
  }

  std::set<std::string> Names(const std::string& path) const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(Cell(path))) {
      names.insert(entry.path().filename());
    }
    return names;
  }
};

TEST_F(GuardTest, WhatIsNotCoveredWorks) {
  Start({"**/.env"});
  for (const Operation& operation : Making()) {
    Put("plain", "text");
    fs::create_directories(Host("d"));
    EXPECT_EQ(Answer(operation.run(Cell("new"))), 0) << operation.name;
    EXPECT_EQ(Answer(remove(Cell("new").c_str())), 0) << operation.name;
    EXPECT_FALSE(fs::exists(Host("new")));
  }
  auto operations = Reading();
  for (const auto& operation : Changing()) operations.push_back(operation);
  for (const Operation& operation : operations) {
    Put("plain", "text");
    EXPECT_EQ(Answer(operation.run(Cell("plain"))), 0) << operation.name;
    for (const char* made : {"second", "away"}) fs::remove(Host(made));
  }
  ASSERT_EQ(symlink("where/it/leads", Cell("link").c_str()), 0);
  EXPECT_EQ(fs::read_symlink(Cell("link")), "where/it/leads");
  EXPECT_EQ(Answer(mknod(Cell("whiteout").c_str(), S_IFCHR, 0)), EPERM);
  struct statvfs info {};
  EXPECT_EQ(statvfs(Cell("").c_str(), &info), 0);
}

TEST_F(GuardTest, WhatIsWrittenAndReadIsTheFileBeneath) {
  Start({"**/.env"});
  const mode_t mask = umask(0);
  const UniqueFd fd(open(Cell("file").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  umask(mask);
  ASSERT_EQ(pwrite(fd.get(), "0123456789", 10, 0), 10);
  EXPECT_EQ(Text("file"), "0123456789");
  EXPECT_EQ(Answer(ftruncate(fd.get(), 4)), 0);
  EXPECT_EQ(Answer(fallocate(fd.get(), 0, 0, 6)), 0);
  EXPECT_EQ(Text("file"), std::string("0123\0\0", 6));
  EXPECT_EQ(lseek(fd.get(), 0, SEEK_DATA), 0);
  EXPECT_EQ(Answer(fsync(fd.get())) + Answer(fdatasync(fd.get())), 0);
  const timespec times[2] = {{1000, 0}, {2000, 0}};
  EXPECT_EQ(Answer(utimensat(AT_FDCWD, Cell("file").c_str(), times, AT_SYMLINK_NOFOLLOW)), 0);
  struct stat info;
  ASSERT_EQ(stat(Host("file").c_str(), &info), 0);
  EXPECT_EQ(info.st_mtim.tv_sec, 2000);
  EXPECT_EQ(info.st_mode & 07777, 0666u);
  // A file without a name is written as any other.
  ASSERT_EQ(unlink(Cell("file").c_str()), 0);
  EXPECT_EQ(Names(""), std::set<std::string>{});
  EXPECT_EQ(pwrite(fd.get(), "more", 4, 0), 4);
  EXPECT_EQ(Answer(ftruncate(fd.get(), 2)), 0);
  char text[4];
  EXPECT_EQ(pread(fd.get(), text, sizeof(text), 0), 2);
}

// As a temporary file is, and an index that another git has replaced.
TEST_F(GuardTest, WhatIsOpenIsAskedAboutAfterItsNameIsGone) {
  Start({"**/.env"});
  for (const char* gone : {"removed", "replaced", "made here"}) {
    fs::remove(Cell("file"));
    if (gone != std::string("made here")) Put("file", "text");
    const int flags = O_RDWR | O_CREAT | O_CLOEXEC;
    const UniqueFd fd(open(Cell("file").c_str(), flags, 0640));
    Put("other", "other text");
    const int result = gone == std::string("replaced")
                           ? rename(Cell("other").c_str(), Cell("file").c_str())
                           : unlink(Cell("file").c_str());
    ASSERT_EQ(result, 0) << gone;
    ASSERT_EQ(ftruncate(fd.get(), 7), 0) << gone;
    EXPECT_EQ(Answer(fchmod(fd.get(), 0600)), 0) << gone;
    EXPECT_EQ(Answer(fchown(fd.get(), 0, 0)), 0) << gone;
    const timespec times[2] = {{1000, 0}, {2000, 0}};
    EXPECT_EQ(Answer(futimens(fd.get(), times)), 0) << gone;
    struct stat info {};
    EXPECT_EQ(Answer(fstat(fd.get(), &info)), 0) << gone;
    EXPECT_EQ(info.st_nlink, 0u) << gone;
    EXPECT_EQ(info.st_size, 7) << gone;
    EXPECT_EQ(info.st_mode & 07777, 0600u) << gone;
    EXPECT_EQ(info.st_mtim.tv_sec, 2000) << gone;
  }
  ASSERT_EQ(mkdir(Cell("directory").c_str(), 0700), 0);
  const UniqueFd directory(open(Cell("directory").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  ASSERT_EQ(rmdir(Cell("directory").c_str()), 0);
  struct stat info {};
  EXPECT_EQ(Answer(fstat(directory.get(), &info)), 0);
}

// Of git's own files the kernel remembers nothing, and asks each time.
TEST_F(GuardTest, WhatTheHostReplacesIsTheNewOneByItsNameThoughTheOldOneIsOpen) {
  Put("r/.git/refs/heads/main", "text");
  Put("new", "longer text");
  Start({"**/.env"});
  const std::string name = Cell("r/.git/refs/heads/main");
  const UniqueFd fd(open(name.c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(fs::file_size(name), 4u);
  Move("new", "r/.git/refs/heads/main");
  EXPECT_EQ(fs::file_size(name), 11u);
}

TEST_F(GuardTest, TheNamesOfAFileTellTheSameAtOnce) {
  Put("file", "text");
  Start({"**/.env"});
  EXPECT_EQ(fs::hard_link_count(Cell("file")), 1u);
  ASSERT_EQ(link(Cell("file").c_str(), Cell("second").c_str()), 0);
  EXPECT_EQ(fs::hard_link_count(Cell("file")), 2u);
  EXPECT_EQ(fs::hard_link_count(Cell("second")), 2u);
  std::ofstream(Cell("second"), std::ios::app) << "more";
  EXPECT_EQ(fs::file_size(Cell("file")), 8u);
  EXPECT_EQ(TextOf(Cell("file")), "textmore");
}

TEST_F(GuardTest, WhatTheHostChangesIsSeen) {
  Put("file", "text");
  Put("gone", "text");
  Start({"**/.env"});
  EXPECT_FALSE(fs::exists(Cell("new")));
  EXPECT_EQ(fs::file_size(Cell("file")), 4u);
  EXPECT_TRUE(fs::exists(Cell("gone")));
  Put("new", "text");
  EXPECT_TRUE(fs::exists(Cell("new"))) << "that there was nothing is not remembered";
  const UniqueFd fd(open(Cell("file").c_str(), O_RDONLY | O_CLOEXEC));
  const auto size = [&fd] {
    struct stat info {};
    return fstat(fd.get(), &info) == 0 ? info.st_size : -1;
  };
  EXPECT_EQ(size(), 4);
  Put("file", "longer text");
  fs::remove(Host("gone"));
  while (fs::exists(Cell("gone")) || size() != 11) std::this_thread::yield();
  EXPECT_EQ(TextOf(Cell("file")), "longer text");
}

TEST_F(GuardTest, EachNameOfAFileTellsWhatWasDoneByAnother) {
  Put("one", "text");
  Start({"**/.env"});
  ASSERT_EQ(TextOf(Cell("one")), "text");
  fs::create_hard_link(Cell("one"), Cell("other"));
  for (int i = 1; i <= 3; ++i) {
    const std::string text(10 * i, static_cast<char>('0' + i));
    std::ofstream(Cell(i % 2 == 0 ? "one" : "other")) << text;
    const std::string unwritten = Cell(i % 2 == 0 ? "other" : "one");
    EXPECT_EQ(fs::file_size(unwritten), text.size());
    EXPECT_EQ(TextOf(unwritten), text);
  }
  ASSERT_EQ(chmod(Cell("one").c_str(), 0600), 0);
  struct stat info;
  ASSERT_EQ(stat(Cell("other").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
}

// Else a command would commit on top of what another has replaced, and that would be lost.
TEST_F(GuardTest, AReferenceThatTheHostReplacesIsSeenAtOnce) {
  Put(".git/refs/heads/main", "0");
  Start({"**/.env"});
  for (int i = 1; i <= 50; ++i) {
    Put(".git/refs/heads/main.lock", std::to_string(i % 10));
    // As long, and as old: as two changes at once, where the clock of files is coarse.
    const timespec times[2] = {{1000, 0}, {1000, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, Host(".git/refs/heads/main.lock").c_str(), times, 0), 0);
    fs::rename(Host(".git/refs/heads/main.lock"), Host(".git/refs/heads/main"));
    ASSERT_EQ(TextOf(Cell(".git/refs/heads/main")), std::to_string(i % 10));
  }
}

TEST_F(GuardTest, CoveredNamesAreNeitherThereNorMade) {
  for (const char* path : {".env", "d/.env", "secrets/key", "secrets/d/key"}) Put(path, "secret");
  Put("plain", "text");
  Start({"**/.env", "secrets/**"});
  std::vector<Operation> operations = Reading();
  for (const auto& more : {Changing(), Making()}) {
    operations.insert(operations.end(), more.begin(), more.end());
  }
  for (const Operation& operation : operations) {
    for (const char* path : {".env", "d/.env", "secrets/key", "secrets/d/key", "d/.env/below",
                             "new/.env", "secrets/new"}) {
      const int expected = std::string(path) == "new/.env" ? ENOENT : EACCES;
      EXPECT_EQ(Answer(operation.run(Cell(path))), expected) << operation.name << " " << path;
    }
  }
  EXPECT_EQ(Answer(unlink(Cell(".env").c_str())), EACCES);
  EXPECT_EQ(Answer(rmdir(Cell("secrets/d").c_str())), EACCES);
  const UniqueFd directory(open(Cell("secrets/d").c_str(), O_DIRECTORY | O_CLOEXEC));
  EXPECT_FALSE(directory);
  EXPECT_EQ(Names(""), (std::set<std::string>{"d", "plain", "secrets"}));
  EXPECT_EQ(Names("secrets"), std::set<std::string>{});
  EXPECT_EQ(Text(".env") + Text("secrets/key"), "secretsecret");
}

TEST_F(GuardTest, ADirectoryGoesNowhereWhereLessOfItIsCovered) {
  for (const char* path : {"secrets/key", "d/file", "e/file", "vault/a/key"}) Put(path, "text");
  Start({"secrets/**", "vault/**/key"});
  EXPECT_EQ(Answer(Renamed("secrets", Cell("open"), 0)), EACCES);
  EXPECT_EQ(Answer(Renamed("vault/a", Cell("open"), 0)), EACCES);
  EXPECT_EQ(Answer(Renamed("d", Cell("secrets"), RENAME_EXCHANGE)), EACCES);
  EXPECT_EQ(Answer(Renamed("secrets", Cell("d"), RENAME_EXCHANGE)), EACCES);
  ASSERT_EQ(mkdir(Cell("empty").c_str(), 0755), 0);
  Put("plain", "text");
  EXPECT_EQ(Answer(Renamed("plain", Cell("vault"), RENAME_EXCHANGE)), EACCES);
  EXPECT_EQ(Answer(Renamed("vault/a", Cell("vault/b"), 0)), 0);
  EXPECT_EQ(Answer(Renamed("d", Cell("e"), RENAME_EXCHANGE)), 0);
  EXPECT_EQ(Answer(Renamed("d/file", Cell("vault/plain"), 0)), 0) << "a file goes anywhere";
  ASSERT_EQ(symlink("secrets", Cell("link").c_str()), 0);
  EXPECT_EQ(Answer(Renamed("link", Cell("vault/link"), 0)), 0) << "so does a link";
}

// As git writes it anew for what it says already. The file stays the one that it is.
// Its rename would make HEAD of what a command has written into it.
// With denied names the guard stands on the tree, and a repository is what has its name.
}  // namespace
}  // namespace odyssey::cell_guard
