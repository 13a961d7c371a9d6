#include "common/metrics/registry.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <functional>
#include <mutex>
#include <utility>

#include "common/base/status.h"

namespace odyssey::metrics {
namespace {

constexpr char kOther[] = "other";

prometheus::Labels LabelsOf(const Description& description, const Values& values) {
  ODY_CHECK(values.size() == description.labels.size());
  prometheus::Labels out;
  for (size_t i = 0; i < values.size(); ++i) {
    const Label& label = description.labels[i];
    const bool known =
        std::find(label.values.begin(), label.values.end(), values[i]) != label.values.end();
    out[label.name] = known ? values[i] : kOther;
  }
  return out;
}

// Calls `make` for each combination of values.
void ForEach(const Description& description, const std::function<void(const Values&)>& make) {
  if (description.series == Series::kUsed) return;
  std::vector<Values> all = {{}};
  for (const Label& label : description.labels) {
    std::vector<Values> longer;
    for (const Values& values : all) {
      for (const std::string& value : label.values) {
        longer.push_back(values);
        longer.back().push_back(value);
      }
    }
    all = std::move(longer);
  }
  for (const Values& values : all) make(values);
}

class CounterOf final : public Counter {
 public:
  CounterOf(Description description, prometheus::Registry* registry)
      : description_(std::move(description)),
        family_(&prometheus::BuildCounter()
                     .Name(description_.name)
                     .Help(description_.help)
                     .Register(*registry)) {
    ForEach(description_, [this](const Values& values) { Add(values, 0); });
  }

  void Add(const Values& values, double n) override {
    family_->Add(LabelsOf(description_, values)).Increment(n);
  }
  void RaiseTo(double total, const Values& values) override {
    const std::lock_guard lock(mutex_);
    prometheus::Counter& counter = family_->Add(LabelsOf(description_, values));
    if (total > counter.Value()) counter.Increment(total - counter.Value());
  }

 private:
  const Description description_;
  prometheus::Family<prometheus::Counter>* const family_;
  std::mutex mutex_;  // of RaiseTo
};

class GaugeOf final : public Gauge {
 public:
  GaugeOf(Description description, prometheus::Registry* registry)
      : description_(std::move(description)),
        family_(&prometheus::BuildGauge()
                     .Name(description_.name)
                     .Help(description_.help)
                     .Register(*registry)) {
    ForEach(description_, [this](const Values& values) { Set(0, values); });
  }

  void Set(double value, const Values& values) override {
    family_->Add(LabelsOf(description_, values)).Set(value);
  }

 private:
  const Description description_;
  prometheus::Family<prometheus::Gauge>* const family_;
};

class HistogramOf final : public Histogram {
 public:
  HistogramOf(Description description, std::vector<double> buckets, prometheus::Registry* registry)
      : description_(std::move(description)),
        buckets_(std::move(buckets)),
        family_(&prometheus::BuildHistogram()
                     .Name(description_.name)
                     .Help(description_.help)
                     .Register(*registry)) {
    ForEach(description_, [this](const Values& values) { Find(values); });
  }

  void Observe(double seconds, const Values& values) override { Find(values).Observe(seconds); }

 private:
  prometheus::Histogram& Find(const Values& values) {
    return family_->Add(LabelsOf(description_, values), buckets_);
  }

  const Description description_;
  const std::vector<double> buckets_;
  prometheus::Family<prometheus::Histogram>* const family_;
};

}  // namespace

struct Registry::Parts {
  prometheus::Registry registry;
  std::deque<CounterOf> counters;
  std::deque<GaugeOf> gauges;
  std::deque<HistogramOf> histograms;
};

Registry::Registry() : parts_(std::make_unique<Parts>()) {}
Registry::~Registry() = default;

Counter* Registry::AddCounter(Description description) {
  return &parts_->counters.emplace_back(std::move(description), &parts_->registry);
}

Gauge* Registry::AddGauge(Description description) {
  return &parts_->gauges.emplace_back(std::move(description), &parts_->registry);
}

Histogram* Registry::AddHistogram(Description description, std::vector<double> buckets) {
  return &parts_->histograms.emplace_back(std::move(description), std::move(buckets),
                                          &parts_->registry);
}

std::string Registry::Text() const {
  return prometheus::TextSerializer().Serialize(parts_->registry.Collect());
}

std::vector<double> LaunchBuckets() {
  return {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};
}

std::vector<double> CommandBuckets() {
  return {0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600};
}

std::vector<double> PersonBuckets() {
  return {1, 2.5, 5, 10, 30, 60, 300, 900, 3600, 6 * 3600, 24 * 3600};
}

}  // namespace odyssey::metrics
