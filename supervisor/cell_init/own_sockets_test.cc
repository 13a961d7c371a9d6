#include "supervisor/cell_init/own_sockets.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "common/os/unique_fd.h"
#include "tests/fakes/temporary_directory.h"

namespace odyssey::cell_init {
namespace {

UniqueFd Bind(const std::string& path) {
  UniqueFd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  EXPECT_EQ(bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0)
      << path << strerror(errno);
  return fd;
}

UniqueFd Open(const std::string& path) { return UniqueFd(open(path.c_str(), O_PATH | O_CLOEXEC)); }

void ExpectBoundHere(const std::string& path, bool expected) {
  const auto answer = IsBoundHere(Open(path).get());
  ASSERT_TRUE(answer.ok()) << answer.status().ToString();
  EXPECT_EQ(*answer, expected) << path;
}

// Moves this thread, and so the sockets that it makes, to another network.
TEST(OwnSocketsTest, AreThoseOfThisNetworkWhateverTheirName) {
  const fakes::TemporaryDirectory directory;
  const std::string top = directory.path() + "/";
  const UniqueFd other = Bind(top + "other");
  ASSERT_EQ(unshare(CLONE_NEWNET), 0) << strerror(errno);
  std::vector<UniqueFd> own;
  // More than the kernel answers with at once.
  for (int i = 0; i < 800; ++i) own.push_back(Bind(top + std::to_string(i)));
  ExpectBoundHere(top + "0", true);
  ExpectBoundHere(top + "799", true);
  ASSERT_EQ(rename((top + "7").c_str(), (top + "renamed").c_str()), 0);
  ExpectBoundHere(top + "renamed", true);
  own[8].reset();
  ExpectBoundHere(top + "8", false);
  ExpectBoundHere(top + "other", false);
  ExpectBoundHere(top, false);
}

}  // namespace
}  // namespace odyssey::cell_init
