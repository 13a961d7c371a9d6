#include "common/os/regular_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>

#include "common/os/file.h"
#include "tests/fakes/temporary_directory.h"

namespace odyssey {
namespace {

constexpr size_t kMost = 8;

class RegularFileTest : public ::testing::Test {
 protected:
  std::string Path(const std::string& name) const { return directory_.path() + "/" + name; }
  // Without the path.
  std::string Refusal(const std::string& path) const {
    const Result<std::string> read = ReadRegularFile(path, kMost);
    EXPECT_EQ(read.status().code(), Code::kInvalidArgument) << path;
    const std::string begin = "open " + path + ": it is ";
    const std::string message = read.status().message();
    return message.rfind(begin, 0) == 0 ? message.substr(begin.size()) : message;
  }

  const fakes::TemporaryDirectory directory_;
};

TEST_F(RegularFileTest, ReadsAFileAndThroughALink) {
  const std::string path = directory_.Write("file", "12345678");
  EXPECT_EQ(*ReadRegularFile(path, kMost), "12345678");
  std::filesystem::create_symlink("file", Path("link"));
  EXPECT_EQ(*ReadRegularFile(Path("link"), kMost), "12345678");
  EXPECT_EQ(ReadRegularFile(path, kMost - 1).status(),
            ResourceExhausted("read " + path + ": larger than 7 bytes"));
  EXPECT_EQ(ReadRegularFile(Path("none"), kMost).status(),
            NotFound("open " + Path("none") + ": No such file or directory"));
}

// It would wait for ever: nobody has the FIFO open.
TEST_F(RegularFileTest, AFifoIsNotWaitedFor) {
  ASSERT_EQ(mkfifo(Path("fifo").c_str(), 0600), 0);
  EXPECT_EQ(Refusal(Path("fifo")), "a FIFO, not a regular file");
  std::filesystem::create_symlink("fifo", Path("link"));
  EXPECT_EQ(Refusal(Path("link")), "a FIFO, not a regular file");
}

TEST_F(RegularFileTest, SaysWhatElseItIs) {
  EXPECT_EQ(Refusal(directory_.path()), "a directory, not a regular file");
  EXPECT_EQ(Refusal("/dev/zero"), "a character device, not a regular file");
  const UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  Path("socket").copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(Refusal(Path("socket")), "a socket, not a regular file");
}

TEST_F(RegularFileTest, WhatWasGivenOpenIsReadToItsEnd) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  ASSERT_TRUE(WriteAll(writer.get(), "piped").ok());
  writer.reset();
  EXPECT_EQ(*ReadRegularFile("/dev/fd/" + std::to_string(reader.get()), kMost), "piped");
  EXPECT_EQ(*ReadRegularFile("/proc/self/fd/" + std::to_string(reader.get()), kMost), "");
  EXPECT_FALSE(ReadRegularFile("/dev/fd/12345", kMost).ok());
  EXPECT_FALSE(ReadRegularFile("/dev/fd/", kMost).ok());
}

}  // namespace
}  // namespace odyssey
