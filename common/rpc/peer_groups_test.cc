#include "common/rpc/peer_groups.h"

#include <grp.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "common/os/unique_fd.h"

namespace odyssey::rpc {
namespace {

constexpr gid_t kFirst = 70001;

// Both ends have the credentials of the process that makes them.
struct Pair {
  UniqueFd one, other;
};
Pair MakePair() {
  int fds[2] = {-1, -1};
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
  return {UniqueFd(fds[0]), UniqueFd(fds[1])};
}

TEST(PeerHasGroupTest, KnowsThePeersEffectiveGroup) {
  const Pair pair = MakePair();
  EXPECT_TRUE(PeerHasGroup(pair.one.get(), getegid()));
  EXPECT_FALSE(PeerHasGroup(pair.one.get(), kFirst));
  EXPECT_FALSE(PeerHasGroup(-1, getegid())) << "no descriptor";
}

// In a child: it changes its groups.
int GroupsOfAChild(size_t count) {
  std::vector<gid_t> groups;
  for (size_t i = 0; i < count; ++i) groups.push_back(kFirst + static_cast<gid_t>(i));
  if (setgroups(groups.size(), groups.data()) != 0) return 2;
  const Pair pair = MakePair();
  if (setgroups(0, nullptr) != 0) return 2;  // those of the connection count
  const gid_t last = kFirst + static_cast<gid_t>(count) - 1;
  return PeerHasGroup(pair.one.get(), last) && !PeerHasGroup(pair.one.get(), last + 1) ? 0 : 1;
}

TEST(PeerHasGroupTest, KnowsSupplementaryGroupsHoweverMany) {
  if (geteuid() != 0) GTEST_SKIP() << "setgroups needs root";
  for (const size_t count : {size_t{1}, size_t{64}, size_t{65}, size_t{1000}}) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) _exit(GroupsOfAChild(count));
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), 0) << count << " groups";
  }
}

}  // namespace
}  // namespace odyssey::rpc
