#include "tests/bench/samples.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

namespace odyssey::bench {

double Samples::Quantile(double fraction) const {
  ODY_CHECK(!values_.empty());
  std::vector<double> sorted = values_;
  const auto rank = static_cast<size_t>(std::ceil(fraction * static_cast<double>(sorted.size())));
  const auto nth = sorted.begin() + static_cast<ptrdiff_t>(std::max<size_t>(rank, 1) - 1);
  std::nth_element(sorted.begin(), nth, sorted.end());
  return *nth;
}

Measure Timed(std::function<Status()> work) {
  return [work = std::move(work)]() -> Result<double> {
    const auto start = std::chrono::steady_clock::now();
    ODY_RETURN_IF_ERROR(work());
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    return took.count();
  };
}

Result<std::vector<Samples>> Interleave(const std::vector<Measure>& contenders, int warmup,
                                        int rounds) {
  std::vector<Samples> all(contenders.size());
  for (int round = 0; round < warmup + rounds; ++round) {
    for (size_t i = 0; i < contenders.size(); ++i) {
      ODY_ASSIGN_OR_RETURN(const double value, contenders[i]());
      if (round >= warmup) all[i].Add(value);
    }
  }
  return all;
}

}  // namespace odyssey::bench
