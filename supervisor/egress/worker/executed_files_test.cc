// Real programs: what a process executes is the kernel's to say.

#include "supervisor/egress/worker/executed_files.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "common/base/sha256.h"
#include "common/os/file.h"
#include "tests/fakes/temporary_directory.h"

namespace odyssey::egress {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostBytes = 4 << 20;

// sleep(1), and the same with other bytes behind it.
std::string Program(const std::string& behind) {
  return ReadFile("/bin/sleep", kMostBytes).value() + behind;
}

void Write(const std::string& path, const std::string& content) {
  const UniqueFd file(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0755));
  ASSERT_EQ(write(file.get(), content.data(), content.size()), ssize_t(content.size())) << path;
}

// A process that executes the file, until it goes.
class Running final {
 public:
  explicit Running(const std::string& path) : pid_(fork()) {
    if (pid_ == 0) {
      execl(path.c_str(), "sleep", "100", nullptr);
      _exit(1);
    }
    std::error_code ignored;
    while (fs::read_symlink(Proc("exe"), ignored) != fs::canonical(path)) {
    }
  }
  ~Running() { End(); }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

  void End() {
    if (pid_ < 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  UniqueFd file() const { return Open("exe"); }
  UniqueFd memory() const { return Open("pagemap"); }

 private:
  std::string Proc(const char* name) const { return "/proc/" + std::to_string(pid_) + "/" + name; }
  UniqueFd Open(const char* name) const {
    return UniqueFd(open(Proc(name).c_str(), O_RDONLY | O_CLOEXEC));
  }
  pid_t pid_;
};

class ExecutedFilesTest : public ::testing::Test {
 protected:
  ExecutedFilesTest() { Write(path_, good_); }

  const fakes::TemporaryDirectory directory_;
  const std::string path_ = directory_.path() + "/program";
  const std::string good_ = Program("good"), other_ = Program("evil");
  ExecutedFiles files_;
};

TEST_F(ExecutedFilesTest, TheHashIsOfWhatIsExecutedAndNotOfWhatThePathNames) {
  const Running good(path_);
  Write(path_ + ".new", other_);
  fs::rename(path_ + ".new", path_);
  EXPECT_EQ(files_.Sha256Of(good.file(), good.memory()), Sha256Hex(good_));
  const Running other(path_);
  EXPECT_EQ(files_.Sha256Of(other.file(), other.memory()), Sha256Hex(other_));
}

TEST_F(ExecutedFilesTest, NobodyWritesToWhatIsExecuted) {
  const Running good(path_);
  EXPECT_LT(open(path_.c_str(), O_WRONLY | O_CLOEXEC), 0);
  EXPECT_EQ(errno, ETXTBSY);
}

// The attack: connect, end, and write another content before the file is read.
TEST_F(ExecutedFilesTest, AFileIsNotHashedWhenItsProcessHasEnded) {
  Write(path_, other_);
  Running other(path_);
  const UniqueFd file = other.file();
  UniqueFd memory = other.memory();
  other.End();
  Write(path_, good_);
  EXPECT_EQ(files_.Sha256Of(file, std::move(memory)), "");
}

// The attack: a store to a mapped file, which on tmpfs changes no time of it.
TEST(ExecutedFilesCacheTest, AHashIsForgottenWhenNothingExecutesTheFile) {
  const std::string path = "/dev/shm/odyssey-executed-" + std::to_string(getpid());
  const std::string good = Program("good"), other = Program("evil");
  Write(path, good);
  ExecutedFiles files;
  Running first(path);
  EXPECT_EQ(files.Sha256Of(first.file(), first.memory()), Sha256Hex(good));
  first.End();
  {
    const UniqueFd file(open(path.c_str(), O_RDWR | O_CLOEXEC));
    void* const memory =
        mmap(nullptr, other.size(), PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    ASSERT_NE(memory, MAP_FAILED);
    other.copy(static_cast<char*>(memory), other.size());
    munmap(memory, other.size());
  }
  const Running second(path);
  EXPECT_EQ(files.Sha256Of(second.file(), second.memory()), Sha256Hex(other));
  unlink(path.c_str());
}

TEST_F(ExecutedFilesTest, AFileBeyondTheBoundIsNotRead) {
  fs::resize_file(path_, kMaxExecutedFile + 1);
  const UniqueFd file(open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  const Running running("/bin/sleep");
  EXPECT_EQ(files_.Sha256Of(file, running.memory()), "");
  const UniqueFd directory(open("/", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(files_.Sha256Of(directory, running.memory()), "");
}

TEST_F(ExecutedFilesTest, KeepsTheHashesOfAFewFiles) {
  for (int i = 0; i < 40; ++i) {
    const std::string content = Program(std::to_string(i));
    const std::string path = path_ + std::to_string(i);
    Write(path, content);
    const Running running(path);
    EXPECT_EQ(files_.Sha256Of(running.file(), running.memory()), Sha256Hex(content));
    EXPECT_EQ(files_.Sha256Of(running.file(), running.memory()), Sha256Hex(content));
  }
}

}  // namespace
}  // namespace odyssey::egress
