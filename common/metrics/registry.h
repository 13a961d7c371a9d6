#ifndef ODYSSEY_COMMON_METRICS_REGISTRY_H_
#define ODYSSEY_COMMON_METRICS_REGISTRY_H_

// What a daemon counts, for Prometheus. A metric declares each of its labels with the values that
// it may have, so that nothing that is counted can make more series than the program names.
// Thread-safe.

#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace odyssey::metrics {

// Any value that is not among `values` is counted as "other".
struct Label {
  std::string name;
  std::vector<std::string> values;
};

// Which series of a metric there are before something is counted.
enum class Series {
  kAll,   // each combination of values, at 0
  kUsed,  // those that have been counted
};

struct Description {
  std::string name;  // "odyssey_…", of a counter "…_total"
  std::string help;
  std::vector<Label> labels = {};
  Series series = Series::kAll;
};

// The values of the labels of one series, in their order.
using Values = std::vector<std::string>;

class Counter {
 public:
  virtual ~Counter() = default;
  virtual void Add(const Values& values = {}, double n = 1) = 0;
  // Of what is counted elsewhere: to `total`, unless it is more already.
  virtual void RaiseTo(double total, const Values& values = {}) = 0;
};

class Gauge {
 public:
  virtual ~Gauge() = default;
  virtual void Set(double value, const Values& values = {}) = 0;
};

class Histogram {
 public:
  virtual ~Histogram() = default;
  virtual void Observe(double seconds, const Values& values = {}) = 0;
};

// Upper bounds of a histogram's buckets, in seconds.
std::vector<double> LaunchBuckets();   // 0.5 ms to 10 s
std::vector<double> CommandBuckets();  // 5 ms to 1 h
std::vector<double> PersonBuckets();   // 1 s to 1 day

class Registry final {
 public:
  Registry();
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // What they return lives as long as the registry. A name is used once.
  Counter* AddCounter(Description description);
  Gauge* AddGauge(Description description);
  Histogram* AddHistogram(Description description, std::vector<double> buckets);

  // In Prometheus's text format 0.0.4.
  std::string Text() const;

 private:
  struct Parts;
  const std::unique_ptr<Parts> parts_;
};

}  // namespace odyssey::metrics

#endif  // ODYSSEY_COMMON_METRICS_REGISTRY_H_
