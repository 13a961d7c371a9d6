#include "common/metrics/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace odyssey::metrics {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

size_t CountLines(const std::string& text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST(RegistryTest, EachSeriesIsThereBeforeItIsCounted) {
  Registry registry;
  registry.AddCounter({"things_total", "Things.", {{"kind", {"a", "b"}}, {"how", {"x", "y"}}}});
  const std::string text = registry.Text();
  EXPECT_THAT(text, HasSubstr("# HELP things_total Things.\n# TYPE things_total counter\n"));
  for (const char* kind : {"a", "b"}) {
    for (const char* how : {"x", "y"}) {
      EXPECT_THAT(text, HasSubstr("things_total{how=\"" + std::string(how) + "\",kind=\"" + kind +
                                  "\"} 0\n"));
    }
  }
}

TEST(RegistryTest, AddsUp) {
  Registry registry;
  Counter* const things = registry.AddCounter({"things_total", "Things.", {{"kind", {"a", "b"}}}});
  things->Add({"a"});
  things->Add({"a"}, 2);
  EXPECT_THAT(registry.Text(), HasSubstr("things_total{kind=\"a\"} 3\n"));
  EXPECT_THAT(registry.Text(), HasSubstr("things_total{kind=\"b\"} 0\n"));
}

TEST(RegistryTest, ValuesThatAreNotDeclaredAreOneSeries) {
  Registry registry;
  Counter* const things = registry.AddCounter({"things_total", "Things.", {{"kind", {"a"}}}});
  things->Add({"x0"});
  const size_t lines = CountLines(registry.Text());
  for (int i = 1; i < 50; ++i) things->Add({"x" + std::to_string(i)});
  const std::string text = registry.Text();
  EXPECT_EQ(CountLines(text), lines);
  EXPECT_THAT(text, HasSubstr("things_total{kind=\"other\"} 50\n"));
  EXPECT_THAT(text, Not(HasSubstr("x1")));
}

TEST(RegistryTest, RaisesACounterToATotalAndNeverLowersIt) {
  Registry registry;
  Counter* const things = registry.AddCounter({"things_total", "Things."});
  things->RaiseTo(5);
  things->RaiseTo(4);
  EXPECT_THAT(registry.Text(), HasSubstr("things_total 5\n"));
}

TEST(RegistryTest, SeriesOnUse) {
  Registry registry;
  Counter* const calls =
      registry.AddCounter({"calls_total", "Calls.", {{"provider", {"a", "b"}}}, Series::kUsed});
  EXPECT_EQ(registry.Text(), "");
  calls->Add({"a"});
  EXPECT_THAT(registry.Text(), HasSubstr("calls_total{provider=\"a\"} 1\n"));
  EXPECT_THAT(registry.Text(), Not(HasSubstr("\"b\"")));
}

TEST(RegistryTest, GaugesAndHistograms) {
  Registry registry;
  registry.AddGauge({"cells", "Cells."})->Set(7);
  registry.AddHistogram({"took_seconds", "It took."}, {1, 2})->Observe(1.5);
  const std::string text = registry.Text();
  EXPECT_THAT(text, HasSubstr("# TYPE cells gauge\ncells 7\n"));
  EXPECT_THAT(text, HasSubstr("took_seconds_count 1\ntook_seconds_sum 1.5\n"));
  EXPECT_THAT(text, HasSubstr("took_seconds_bucket{le=\"1\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("took_seconds_bucket{le=\"2\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("took_seconds_bucket{le=\"+Inf\"} 1\n"));
}

}  // namespace
}  // namespace odyssey::metrics
