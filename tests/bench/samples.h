#ifndef ODYSSEY_TESTS_BENCH_SAMPLES_H_
#define ODYSSEY_TESTS_BENCH_SAMPLES_H_

// Measurements of one thing, and taking those of several things in turn.

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "common/base/status.h"

namespace odyssey::bench {

class Samples final {
 public:
  void Add(double value) { values_.push_back(value); }
  size_t count() const { return values_.size(); }

  // The value that `fraction` (0 to 1) of the samples do not exceed. There must be a sample.
  double Quantile(double fraction) const;
  double Median() const { return Quantile(0.5); }
  double P99() const { return Quantile(0.99); }

 private:
  std::vector<double> values_;
};

// Answers its own measurement, in whatever unit the caller wants.
using Measure = std::function<Result<double>()>;

// A measure of how long `work` takes, in microseconds.
Measure Timed(std::function<Status()> work);

// Runs every contender once, then again, `rounds` times (A, B, C, A, B, C, …), so that a change of
// the machine's speed meets all of them. The first `warmup` rounds are dropped. Ends at an error.
Result<std::vector<Samples>> Interleave(const std::vector<Measure>& contenders, int warmup,
                                        int rounds);

}  // namespace odyssey::bench

#endif  // ODYSSEY_TESTS_BENCH_SAMPLES_H_
