#include "tests/bench/parts.h"

#include <string>
#include <vector>

#include <benchmark/benchmark.h>

namespace odyssey::bench {
namespace {

// Keeps the medians and prints nothing.
class MedianReporter final : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context& /*context*/) override { return true; }
  void ReportRuns(const std::vector<Run>& runs) override {
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Aggregate || run.aggregate_name != "median") continue;
      parts_.push_back({run.run_name.str(), run.GetAdjustedRealTime()});
    }
  }
  const std::vector<Part>& parts() const { return parts_; }

 private:
  std::vector<Part> parts_;
};

}  // namespace

std::vector<Part> MeasureParts(const std::string& only, bool quick) {
  std::vector<std::string> words = {
      "odyssey-bench", "--benchmark_repetitions=5", "--benchmark_enable_random_interleaving=true",
      std::string("--benchmark_min_time=") + (quick ? "0.001" : "0.2")};
  if (!only.empty()) words.push_back("--benchmark_filter=" + only);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  int argc = static_cast<int>(argv.size());
  benchmark::Initialize(&argc, argv.data());
  MedianReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  return reporter.parts();
}

}  // namespace odyssey::bench
