#ifndef ODYSSEY_TESTS_BENCH_RATE_H_
#define ODYSSEY_TESTS_BENCH_RATE_H_

#include <functional>
#include <string>

#include "common/base/status.h"
#include "tests/bench/samples.h"

namespace odyssey::bench {

// How many calls of `work` per second `threads` threads get done, `each` calls a thread; `work`
// gets the number of its thread.
Result<double> Rate(int threads, int each, const std::function<Status(int)>& work);

// "1234 execs/s".
std::string PerSecond(const Samples& samples, const std::string& unit);

}  // namespace odyssey::bench

#endif  // ODYSSEY_TESTS_BENCH_RATE_H_
