#include "ctl/cell/usage_plot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace odyssey::ctl {
namespace {

using testing::HasSubstr;
using testing::Not;

size_t CountOf(const std::string& part, const std::string& text) {
  size_t count = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(UsagePlotTest, EachCellHasALineInBothPanels) {
  UsagePlot plot;
  plot.Add(100, {{"build", {50, 64 << 20}}, {"idle", {0, 1 << 20}}});
  plot.Add(110, {{"build", {100, 128 << 20}}, {"idle", {0, 1 << 20}}});
  const std::string svg = plot.Svg();
  EXPECT_EQ(CountOf("<path ", svg), 4u);
  // From half of 100% at the left edge to all of it at the right one.
  EXPECT_THAT(svg, HasSubstr("d=\"M80.0 115.0L620.0 40.0\""));
  EXPECT_THAT(svg, HasSubstr(">build</text>"));
  EXPECT_THAT(svg, HasSubstr(">128 MiB</text>"));
  EXPECT_THAT(svg, HasSubstr(">10.0 s</text>"));
}

TEST(UsagePlotTest, OfManyCellsTheSmallestAreSummedUp) {
  UsagePlot plot;
  std::map<std::string, Usage> cells;
  for (int i = 0; i < 20; ++i) cells["cell" + std::to_string(i)] = {double(i), 0};
  plot.Add(0, cells);
  plot.Add(1, cells);
  const std::string svg = plot.Svg();
  EXPECT_EQ(CountOf("<path ", svg), 2 * (UsagePlot::kMaxLines + 1));
  EXPECT_THAT(svg, HasSubstr(">12 others</text>"));
  EXPECT_THAT(svg, HasSubstr(">cell19</text>"));
  EXPECT_THAT(svg, Not(HasSubstr(">cell3</text>")));
}

TEST(UsagePlotTest, NamesAreText) {
  UsagePlot plot;
  plot.Add(0, {{"<script>&\x1b[31m", {1, 1}}});
  const std::string svg = plot.Svg();
  EXPECT_THAT(svg, HasSubstr("&lt;script>&amp;\\e[31m"));
  EXPECT_THAT(svg, Not(HasSubstr("<script")));
}

TEST(UsagePlotTest, WithoutACellItSaysSo) {
  EXPECT_THAT(UsagePlot().Svg(), HasSubstr(">no cell</text>"));
}

TEST(UsagePlotTest, AnHourIsKept) {
  UsagePlot plot;
  for (size_t i = 0; i < UsagePlot::kMaxSamples + 60; ++i) plot.Add(double(i), {{"a", {1, 1}}});
  EXPECT_THAT(plot.Svg(), HasSubstr(">59 m 59 s</text>"));
}

}  // namespace
}  // namespace odyssey::ctl
