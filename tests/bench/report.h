#ifndef ODYSSEY_TESTS_BENCH_REPORT_H_
#define ODYSSEY_TESTS_BENCH_REPORT_H_

// What was measured, as Markdown. Pure but for HostLines.

#include <string>
#include <vector>

#include "common/base/status.h"
#include "tests/bench/samples.h"

namespace odyssey::bench {

// One demand on a figure.
struct Target {
  std::string demand;    // "≤ 1.0 ms"
  std::string measured;  // "0.93 ms"
  bool met = false;
};

// "at most 2.5 × posix_spawn": ours / other against the factor.
Target AtMostTimes(double factor, double ours, double other, const std::string& name);
// "at least 4 × faster than bwrap": other / ours against the factor.
Target AtLeastTimesFaster(double factor, double ours, double other, const std::string& name);
// "p50 ≤ 1.0 ms" for a time in microseconds.
Target AtMostMilliseconds(double bound_ms, double ours_us);

// "at most 1.0 ms more than direct" for times in microseconds.
Target AtMostMillisecondsMore(double bound_ms, double ours_us, double other_us,
                              const std::string& name);

struct Figure {
  std::string what;
  std::string odyssey;  // medians and p99, with units
  std::string floor;
  std::string peer;
  std::vector<Target> targets;
};

// A part's time, from Google Benchmark.
struct Part {
  std::string name;
  double median_ns = 0;
};

struct Report {
  std::vector<std::string> host;  // lines about the machine and the run
  std::vector<Figure> figures;
  std::vector<Part> parts;
};

// "p50 0.93 ms, p99 1.20 ms" of microseconds.
std::string Times(const Samples& microseconds);

// Date, kernel, processor, cores, load, the command line.
std::vector<std::string> HostLines(int argc, char** argv);

std::string ToMarkdown(const Report& report);

}  // namespace odyssey::bench

#endif  // ODYSSEY_TESTS_BENCH_REPORT_H_
