#ifndef ODYSSEY_TESTS_BENCH_PROCESS_MEMORY_H_
#define ODYSSEY_TESTS_BENCH_PROCESS_MEMORY_H_

#include <sys/types.h>

#include <vector>

#include "common/base/status.h"

namespace odyssey::bench {

// Of a user, by number. NOT_FOUND if there is none.
Result<std::vector<pid_t>> ProcessesOfUid(uid_t uid);

struct ProcessMemory {
  int processes = 0;
  double pss_bytes = 0;  // proportional set size: a shared page counts in parts
};

// Of one process, in bytes.
double PssOf(pid_t pid);

// Of all processes of a user: the sum. NOT_FOUND if there is none.
Result<ProcessMemory> MemoryOfUid(uid_t uid);

}  // namespace odyssey::bench

#endif  // ODYSSEY_TESTS_BENCH_PROCESS_MEMORY_H_
