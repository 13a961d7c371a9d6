#include "tests/bench/rate.h"

#include <chrono>
#include <cmath>
#include <mutex>
#include <thread>
#include <vector>

namespace odyssey::bench {

Result<double> Rate(int threads, int each, const std::function<Status(int)>& work) {
  std::mutex mutex;
  Status first_error;
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::thread> running;
  for (int t = 0; t < threads; ++t) {
    running.emplace_back([&, t] {
      for (int i = 0; i < each; ++i) {
        const Status status = work(t);
        if (status.ok()) continue;
        const std::lock_guard<std::mutex> lock(mutex);
        first_error = status;
        return;
      }
    });
  }
  for (std::thread& thread : running) thread.join();
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  if (!first_error.ok()) return first_error;
  return threads * each / took.count();
}

std::string PerSecond(const Samples& samples, const std::string& unit) {
  return std::to_string(std::lround(samples.Median())) + " " + unit + "/s";
}

}  // namespace odyssey::bench
