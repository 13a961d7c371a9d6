#ifndef ODYSSEY_TESTS_INTEGRATION_INJECTED_CALL_H_
#define ODYSSEY_TESTS_INTEGRATION_INJECTED_CALL_H_

// What one process of a cell would be answered, if whoever had taken it over asked the kernel.

#include <sys/types.h>

#include <array>
#include <string>

namespace odyssey::testing {

struct InjectedCall {
  long number;
  std::array<unsigned long, 4> arguments;
  // If not "": goes into the process's memory, and its address takes the place of arguments[1].
  std::string text;
};

// Traces a process, lets it make this system call in place of its next one, then that one, and lets
// it go on. A process that waits in one begins it anew.
// 0 or more, or -errno; fails the test if the process cannot be traced. x86-64 only.
long Inject(pid_t pid, const InjectedCall& call);

}  // namespace odyssey::testing

#endif  // ODYSSEY_TESTS_INTEGRATION_INJECTED_CALL_H_
