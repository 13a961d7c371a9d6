#ifndef ODYSSEY_TESTS_BENCH_PARTS_H_
#define ODYSSEY_TESTS_BENCH_PARTS_H_

// The parts, measured alone with Google Benchmark (the BENCHMARKs of *_parts.cc).

#include <string>
#include <vector>

#include "tests/bench/report.h"

namespace odyssey::bench {

// Runs those whose name contains `only` (all if it is empty).
std::vector<Part> MeasureParts(const std::string& only, bool quick);

}  // namespace odyssey::bench

#endif  // ODYSSEY_TESTS_BENCH_PARTS_H_
