#ifndef ODYSSEY_TESTS_BENCH_FIGURE_LIST_H_
#define ODYSSEY_TESTS_BENCH_FIGURE_LIST_H_

#include <vector>

#include "tests/bench/options.h"
#include "tests/bench/report.h"

namespace odyssey::bench {

// Measures the whole-path figures that `options` asks for, in a supervisor of their own, and says
// on stderr what it is doing. False if one could not be measured; the others are there.
bool MeasureFigures(const Options& options, std::vector<Figure>* figures);

}  // namespace odyssey::bench

#endif  // ODYSSEY_TESTS_BENCH_FIGURE_LIST_H_
