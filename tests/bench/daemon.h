#ifndef ODYSSEY_TESTS_BENCH_DAEMON_H_
#define ODYSSEY_TESTS_BENCH_DAEMON_H_

#include <string>
#include <vector>

#include "common/base/status.h"
#include "tests/bench/child.h"

namespace odyssey::bench {

// Starts `argv[0]` from this program's own directory with its stderr in the file `log`, and returns
// once it has written "ready". The error has what it logged.
Result<Child> LaunchDaemon(std::vector<std::string> argv, const std::string& log);

}  // namespace odyssey::bench

#endif  // ODYSSEY_TESTS_BENCH_DAEMON_H_
