#include "common/os/file.h"
#include "common/os/atomic_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "tests/fakes/temporary_directory.h"

namespace odyssey {
namespace {

namespace fs = std::filesystem;

class FileTest : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return directory_.path() + "/" + name; }
  const fakes::TemporaryDirectory directory_;
};

TEST_F(FileTest, ReadsAtMostWhatTheCallerAllows) {
  const std::string path = directory_.Write("a", "12345");
  EXPECT_EQ(ReadFile(path, 5).value(), "12345");
  EXPECT_EQ(ReadFile(path, 4).status().code(), Code::kResourceExhausted);
  EXPECT_EQ(ReadFile(Path("none"), 5).status().code(), Code::kNotFound);
}

TEST_F(FileTest, ReplacesAFileWithItsModeAndLeavesNoTemporaryOne) {
  const std::string path = directory_.Write("a", "old");
  ASSERT_TRUE(WriteFileAtomically(path, "new", 0600).ok());
  EXPECT_EQ(ReadFile(path, 10).value(), "new");
  struct stat info;
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0600u);
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_.path()), fs::directory_iterator()), 1);
}

TEST_F(FileTest, AReplacementThatFailsLeavesTheOldContent) {
  fs::create_directories(Path("taken/below"));
  const Status status = WriteFileAtomically(Path("taken"), "new", 0600);
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find(Path("taken")), std::string::npos) << status.message();
  EXPECT_TRUE(fs::is_directory(Path("taken/below")));
  EXPECT_EQ(std::distance(fs::directory_iterator(directory_.path()), fs::directory_iterator()), 1);
}

TEST_F(FileTest, ALinkIsReplacedNotFollowed) {
  const std::string target = directory_.Write("target", "precious");
  fs::create_symlink(target, Path("link"));
  ASSERT_TRUE(WriteFileAtomically(Path("link"), "new", 0600).ok());
  EXPECT_EQ(ReadFile(target, 100).value(), "precious");
  EXPECT_FALSE(fs::is_symlink(Path("link")));
}

TEST_F(FileTest, MakesParentsAndAcceptsWhatIsThere) {
  EXPECT_TRUE(MakeDirectories(Path("a/b/c"), 0700).ok());
  EXPECT_TRUE(MakeDirectories(Path("a/b/c"), 0700).ok());
  directory_.Write("file", "x");
  EXPECT_EQ(MakeDirectories(Path("file"), 0700),
            InvalidArgument(Path("file") + " is not a directory"));
  EXPECT_EQ(MakeDirectories(Path("file/below"), 0700).code(), Code::kInvalidArgument);
}

TEST_F(FileTest, AControlFileThatRefusesIsNamedOnOneLineWithTheReason) {
  EXPECT_EQ(WriteControlFile("/dev/full", "0 0 5\n5 5 1\n").message(),
            "write 0 0 5 to /dev/full: No space left on device");
}

}  // namespace
}  // namespace odyssey
