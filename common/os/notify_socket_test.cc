#include "common/os/notify_socket.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>

#include "common/os/unix_listener.h"

namespace odyssey {
namespace {

class NotifySocketTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string directory = testing::TempDir() + "manager-XXXXXX";
    path_ = directory;
    ASSERT_NE(mkdtemp(path_.data()), nullptr);
    path_ += "/notify";
    socket_.reset(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const auto address = UnixAddress(path_);
    ASSERT_EQ(bind(socket_.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof(*address)),
              0);
  }
  void TearDown() override {
    unlink(path_.c_str());
    rmdir(path_.substr(0, path_.rfind('/')).c_str());
  }

  std::string Received() {
    char buffer[256];
    const ssize_t n = recv(socket_.get(), buffer, sizeof(buffer), 0);
    return n < 0 ? "" : std::string(buffer, static_cast<size_t>(n));
  }

  std::string path_;
  UniqueFd socket_;
};

TEST_F(NotifySocketTest, Reports) {
  const NotifySocket manager(path_, 3'000'000);
  manager.Ready();
  EXPECT_EQ(Received(), "READY=1");
  manager.Alive();
  EXPECT_EQ(Received(), "WATCHDOG=1");
  manager.Stopping();
  EXPECT_EQ(Received(), "STOPPING=1");
  manager.Reloading();
  EXPECT_EQ(Received().rfind("RELOADING=1\nMONOTONIC_USEC=", 0), 0u);
  EXPECT_EQ(manager.alive_period(), std::chrono::milliseconds(1500));
}

TEST_F(NotifySocketTest, TakesTheEnvironment) {
  setenv("NOTIFY_SOCKET", path_.c_str(), 1);
  setenv("WATCHDOG_USEC", "2000000", 1);
  const NotifySocket manager = NotifySocket::FromEnvironment();
  EXPECT_EQ(getenv("NOTIFY_SOCKET"), nullptr);
  EXPECT_EQ(manager.alive_period(), std::chrono::seconds(1));
  manager.Ready();
  EXPECT_EQ(Received(), "READY=1");
}

TEST_F(NotifySocketTest, WithoutAManagerReportsGoNowhere) {
  const NotifySocket none = NotifySocket::FromEnvironment();
  none.Ready();
  EXPECT_EQ(none.alive_period().count(), 0);
  NotifySocket("/no/such/socket", 0).Ready();
  NotifySocket(std::string(200, 'x'), 0).Ready();
  EXPECT_EQ(Received(), "");
}

}  // namespace
}  // namespace odyssey
