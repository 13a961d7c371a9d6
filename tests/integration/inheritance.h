#ifndef ODYSSEY_TESTS_INTEGRATION_INHERITANCE_H_
#define ODYSSEY_TESTS_INTEGRATION_INHERITANCE_H_

#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <linux/keyctl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>

#include "common/os/unique_fd.h"

namespace odyssey::testing {

// What a careless start of the supervisor would hand down, from this process for as long as this
// lives: a variable, a descriptor that survives execve, a session keyring, groups, core dumps, an
// OOM score, SIGHUP ignored and SIGUSR2 blocked.
class Inheritance final {
 public:
  static constexpr char kVariable[] = "SECRET_X";
  static constexpr char kSecret[] = "canary-of-the-host";
  // Of /etc/shadow, where nobody puts a descriptor of theirs over it.
  static constexpr int kLeak = 50;

  Inheritance() {
    setenv(kVariable, kSecret, 1);  // NOLINT(concurrency-mt-unsafe)
    const UniqueFd shadow(open("/etc/shadow", O_RDONLY | O_CLOEXEC));
    leak_.reset(fcntl(shadow.get(), F_DUPFD, kLeak));  // NOLINT(android-cloexec-dup): the point
    EXPECT_EQ(leak_.get(), kLeak);
    keyring_ = syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr);
    EXPECT_GT(keyring_, 0);
    EXPECT_EQ(setgroups(2, kGroups), 0);
    const rlimit cores{RLIM_INFINITY, RLIM_INFINITY};
    EXPECT_EQ(setrlimit(RLIMIT_CORE, &cores), 0);
    SetOomScore("500");  // stays where lowering takes a capability that root lacks
    SetOomScore("-300");
    signal(SIGHUP, SIG_IGN);
    Mask(SIG_BLOCK);
  }
  ~Inheritance() {
    Mask(SIG_UNBLOCK);
    signal(SIGHUP, SIG_DFL);
    SetOomScore("0");
    EXPECT_EQ(setgroups(0, nullptr), 0);
    unsetenv(kVariable);  // NOLINT(concurrency-mt-unsafe)
  }
  Inheritance(const Inheritance&) = delete;
  Inheritance& operator=(const Inheritance&) = delete;

  long keyring() const { return keyring_; }

 private:
  static constexpr gid_t kGroups[] = {4, 54321};  // adm, which may read logs, and nobody's
  static void SetOomScore(const char* score) { std::ofstream("/proc/self/oom_score_adj") << score; }
  static void Mask(int how) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    EXPECT_EQ(sigprocmask(how, &set, nullptr), 0);
  }

  UniqueFd leak_;
  long keyring_ = -1;
};

}  // namespace odyssey::testing

#endif  // ODYSSEY_TESTS_INTEGRATION_INHERITANCE_H_
