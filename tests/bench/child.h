#ifndef ODYSSEY_TESTS_BENCH_CHILD_H_
#define ODYSSEY_TESTS_BENCH_CHILD_H_

#include <sys/types.h>

#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"

namespace odyssey::bench {

struct ChildStdio {
  int stdout_fd = -1;  // -1: inherited
  int stderr_fd = -1;
};

// A process made with posix_spawn. Killed and reaped when it goes out of scope.
class Child final {
 public:
  static Result<Child> Spawn(const std::vector<std::string>& argv, const ChildStdio& stdio);

  Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  Child& operator=(Child&&) = delete;
  Child(const Child&) = delete;
  ~Child();

  pid_t pid() const { return pid_; }
  // Blocks until it ends; INTERNAL unless it exited with 0.
  Status Wait();

 private:
  explicit Child(pid_t pid) : pid_(pid) {}
  pid_t pid_;
};

}  // namespace odyssey::bench

#endif  // ODYSSEY_TESTS_BENCH_CHILD_H_
