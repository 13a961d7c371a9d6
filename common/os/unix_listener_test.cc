#include "common/os/unix_listener.h"

#include <gtest/gtest.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <filesystem>

#include "tests/fakes/temporary_directory.h"

namespace odyssey {
namespace {

class UnixListenerTest : public ::testing::Test {
 protected:
  bool CanConnect() const {
    const UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof(address.sun_path) - 1);
    return connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  }

  const fakes::TemporaryDirectory directory_;
  const std::string path_ = directory_.path() + "/socket";
};

TEST_F(UnixListenerTest, ListensWithTheModeGiven) {
  const auto listener = ListenUnix(path_, 0660);
  ASSERT_TRUE(listener.ok()) << listener.status().ToString();
  struct stat info;
  ASSERT_EQ(stat(path_.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07777, 0660u);
  EXPECT_TRUE(CanConnect());
}

TEST_F(UnixListenerTest, ReplacesAStaleSocket) {
  { const auto killed = ListenUnix(path_, 0600); }  // closed, but its file stays
  ASSERT_TRUE(std::filesystem::exists(path_));
  ASSERT_FALSE(CanConnect());
  const auto listener = ListenUnix(path_, 0600);
  EXPECT_TRUE(listener.ok()) << listener.status().ToString();
  EXPECT_TRUE(CanConnect());
}

TEST_F(UnixListenerTest, LeavesAServedSocketAlone) {
  const auto first = ListenUnix(path_, 0600);
  const auto second = ListenUnix(path_, 0600);
  EXPECT_EQ(second.status(), AlreadyExists("something already serves on " + path_));
  EXPECT_TRUE(CanConnect());
}

TEST_F(UnixListenerTest, LeavesAnythingElseAlone) {
  directory_.Write("socket", "precious");
  EXPECT_EQ(ListenUnix(path_, 0600).status().code(), Code::kAlreadyExists);
  EXPECT_EQ(std::filesystem::file_size(path_), 8u);
}

TEST_F(UnixListenerTest, RefusesAPathThatDoesNotFit) {
  const auto listener = ListenUnix("/" + std::string(107, 'a'), 0600);
  EXPECT_EQ(listener.status().code(), Code::kInvalidArgument);
  EXPECT_NE(listener.status().message().find("longer than 107 bytes"), std::string::npos);
}

}  // namespace
}  // namespace odyssey
