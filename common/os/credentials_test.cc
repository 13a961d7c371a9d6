#include "common/os/credentials.h"

#include <grp.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace odyssey {
namespace {

constexpr uid_t kNobody = 65534;

class CredentialsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root becomes somebody else";
  }

  // What `look` says in a child that became nobody, as the child of `parent`; -1: it could not.
  static int AsNobody(pid_t parent, const std::function<int()>& look) {
    const pid_t child = fork();
    if (child == 0) {
      const gid_t groups[] = {4, 54321};
      if (setgroups(2, groups) != 0) _exit(254);
      _exit(BecomeUser(kNobody, kNobody, parent).ok() ? look() : 255);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    return WEXITSTATUS(status) == 255 ? -1 : WEXITSTATUS(status);
  }
};

TEST_F(CredentialsTest, NothingOfRootsStays) {
  EXPECT_EQ(AsNobody(getpid(),
                     [] {
                       uid_t uids[3];
                       gid_t gids[3];
                       getresuid(&uids[0], &uids[1], &uids[2]);
                       getresgid(&gids[0], &gids[1], &gids[2]);
                       int wrong = getgroups(0, nullptr);
                       for (const uid_t uid : uids) wrong += uid == kNobody ? 0 : 1;
                       for (const gid_t gid : gids) wrong += gid == kNobody ? 0 : 1;
                       return wrong;
                     }),
            0);
  EXPECT_EQ(AsNobody(getpid(), [] { return setuid(0) == 0 ? 1 : 0; }), 0);
}

TEST_F(CredentialsTest, DiesWithItsParent) {
  EXPECT_EQ(AsNobody(getpid(),
                     [] {
                       int signal = 0;
                       prctl(PR_GET_PDEATHSIG, &signal);
                       return signal;
                     }),
            SIGKILL);
}

// It would wait for a signal that has been sent already.
TEST_F(CredentialsTest, FailsIfTheParentDiedBefore) {
  const pid_t gone = fork();
  if (gone == 0) _exit(0);
  ASSERT_EQ(waitpid(gone, nullptr, 0), gone);
  EXPECT_EQ(AsNobody(gone, [] { return 0; }), -1);
}

}  // namespace
}  // namespace odyssey
