#ifndef ODYSSEY_CTL_CELL_USAGE_PLOT_H_
#define ODYSSEY_CTL_CELL_USAGE_PLOT_H_

// What cells used over a time, as a picture. Pure.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace odyssey::ctl {

struct Usage {
  double cpu_percent = 0;  // of one CPU
  uint64_t memory_bytes = 0;
};

class UsagePlot final {
 public:
  // An hour of seconds. Older samples are dropped.
  static constexpr size_t kMaxSamples = 3600;
  // With a line of their own, those that used the most; the others are summed up.
  static constexpr size_t kMaxLines = 8;

  // `at_s`: seconds since any beginning, later than those before. `cells`: by name, not sanitised.
  void Add(double at_s, std::map<std::string, Usage> cells);

  // An SVG document: CPU above memory, a line for each cell. It loads nothing and has no script.
  std::string Svg() const;

 private:
  struct Sample {
    double at_s;
    std::map<std::string, Usage> cells;
  };
  // Names of cells, those that used the most first.
  std::vector<std::string> Ranked() const;

  std::deque<Sample> samples_;
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_CELL_USAGE_PLOT_H_
