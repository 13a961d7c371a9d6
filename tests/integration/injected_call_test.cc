// The instrument of confinement_workers_test: it asks a process that waits as well as one that
// runs, and changes nothing for it.

#include "tests/integration/injected_call.h"

#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>

namespace odyssey::testing {
namespace {

// A child that counts the rounds of what it does, for as long as this lives.
class Child final {
 public:
  using Rounds = std::atomic<long>;

  explicit Child(void (*body)(Rounds* rounds))
      : rounds_(static_cast<Rounds*>(mmap(nullptr, sizeof(Rounds), PROT_READ | PROT_WRITE,
                                          MAP_SHARED | MAP_ANONYMOUS, -1, 0))),
        pid_(fork()) {
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    body(rounds_);
    _exit(1);
  }
  ~Child() {
    if (pid_ > 0) kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    munmap(rounds_, sizeof(Rounds));
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  void AwaitRounds(long more) const {
    const long wanted = *rounds_ + more;
    while (*rounds_ < wanted) sched_yield();
  }

 private:
  Rounds* const rounds_;
  const pid_t pid_;
};

// In user mode most of the time, and in another call each time.
void KeepRunning(Child::Rounds* rounds) {
  for (;;) {
    for (int i = 0; i < 100'000; ++i) asm volatile("");
    if (syscall(SYS_getppid) <= 0 || syscall(SYS_dup, -1) != -1 || errno != EBADF) return;
    ++*rounds;
  }
}

// Asleep most of the time, in a call that the kernel continues and does not begin anew.
void KeepWaiting(Child::Rounds* rounds) {
  for (;;) {
    if (usleep(1000) != 0) return;
    ++*rounds;
  }
}

TEST(InjectedCallTest, AProcessThatRunsIsAskedToo) {
  const Child child(KeepRunning);
  child.AwaitRounds(1);
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(Inject(child.pid(), {SYS_getpid, {}, ""}), child.pid()) << i;
  }
  child.AwaitRounds(2);
}

TEST(InjectedCallTest, AProcessThatWaitsGoesOnWaiting) {
  const Child child(KeepWaiting);
  child.AwaitRounds(1);
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(Inject(child.pid(), {SYS_getpid, {}, ""}), child.pid()) << i;
  }
  child.AwaitRounds(2);
}

TEST(InjectedCallTest, AnswersAreTheKernels) {
  const Child child(KeepWaiting);
  const auto here = static_cast<unsigned long>(AT_FDCWD);
  EXPECT_EQ(Inject(child.pid(), {SYS_openat, {here, 0, O_RDONLY, 0}, "/no/such/file"}), -ENOENT);
  EXPECT_GT(Inject(child.pid(), {SYS_openat, {here, 0, O_RDONLY, 0}, "/dev/null"}), 2);
  child.AwaitRounds(2);
}

}  // namespace
}  // namespace odyssey::testing
