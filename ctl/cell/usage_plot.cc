#include "ctl/cell/usage_plot.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "ctl/base/sanitize.h"
#include "ctl/base/units.h"

namespace odyssey::ctl {
namespace {

// Of the picture, in pixels.
constexpr double kWidth = 800, kLeft = 80, kRight = 620, kPanel = 150, kGap = 60, kTop = 40;
constexpr double kLegend = kRight + 16, kRow = 18;
constexpr double kHeight = kTop + 2 * kPanel + kGap + 40;
constexpr size_t kNameCharacters = 20;

// Told apart also by people who do not tell red from green (Okabe and Ito).
constexpr const char* kColours[] = {"#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00",
                                    "#56b4e9", "#b8a800", "#888888", "#666666"};

constexpr char kStyle[] =
    "<style>text{font:12px sans-serif;fill:#222}.h{font-weight:bold}.g{stroke:#ccc}"
    "path{fill:none;stroke-width:1.5}"
    "@media(prefers-color-scheme:dark){svg{background:#111}text{fill:#ddd}.g{stroke:#444}}"
    "</style>\n";

std::string Number(double value) {
  std::string text = std::to_string(std::round(value * 10) / 10);
  return text.substr(0, text.find('.') + 2);
}

std::string Escaped(std::string_view text) {
  std::string out;
  for (const char c : Sanitize(text, Lines::kOne)) {
    if (c == '<')
      out += "&lt;";
    else if (c == '&')
      out += "&amp;";
    else
      out += c;
  }
  return out;
}

std::string Text(double x, double y, std::string_view text, std::string_view attributes = "") {
  return "<text x=\"" + Number(x) + "\" y=\"" + Number(y) + "\" " + std::string(attributes) + ">" +
         Escaped(text) + "</text>\n";
}

std::string Line(double x1, double y1, double x2, double y2) {
  return "<line class=\"g\" x1=\"" + Number(x1) + "\" y1=\"" + Number(y1) + "\" x2=\"" +
         Number(x2) + "\" y2=\"" + Number(y2) + "\"/>\n";
}

// The smallest of 1, 2, 5, 10, 20, … that is at least `value`.
double RoundUp(double value) {
  for (double step = 1;; step *= 10) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (step * factor >= value) return step * factor;
    }
  }
}
// The same for bytes: powers of two.
double RoundUpBytes(double value) {
  double bound = 1 << 20;
  while (bound < value) bound *= 2;
  return bound;
}

using Points = std::vector<std::pair<double, double>>;  // seconds since the beginning, value

// A line of both panels.
struct Curve {
  std::string name;
  Points cpu;
  Points memory;
};

// One above the other, with the same seconds.
struct Panel {
  double top;
  double bound;  // of the values
  double seconds;
};

double X(const Panel& panel, double at) { return kLeft + at / panel.seconds * (kRight - kLeft); }
double Y(const Panel& panel, double value) {
  return panel.top + kPanel * (1 - value / panel.bound);
}

std::string Grid(const Panel& panel, std::string_view title,
                 const std::function<std::string(double)>& label) {
  std::string out = Text(kLeft, panel.top - 10, title, "class=\"h\"");
  for (const double part : {0.0, 0.5, 1.0}) {
    const double y = Y(panel, part * panel.bound);
    out += Line(kLeft, y, kRight, y);
    out += Text(kLeft - 8, y + 4, label(part * panel.bound), "text-anchor=\"end\"");
  }
  return out;
}

std::string Path(const Panel& panel, const Points& points, const char* colour) {
  std::string out = "<path stroke=\"" + std::string(colour) + "\" d=\"";
  char move = 'M';
  for (const auto& [at, value] : points) {
    out += std::exchange(move, 'L') + Number(X(panel, at)) + " " + Number(Y(panel, value));
  }
  return out + "\"/>\n";
}

double Highest(const std::vector<Curve>& curves, Points Curve::*values) {
  double most = 0;
  for (const Curve& curve : curves) {
    for (const auto& point : curve.*values) most = std::max(most, point.second);
  }
  return most;
}

std::string Legend(const std::vector<Curve>& curves) {
  std::string out;
  double y = kTop;
  for (size_t i = 0; i < curves.size(); ++i, y += kRow) {
    out += "<rect x=\"" + Number(kLegend) + "\" y=\"" + Number(y - 9) +
           "\" width=\"10\" height=\"10\" fill=\"" + kColours[i] + "\"/>\n";
    out += Text(kLegend + 16, y, Shorten(Sanitize(curves[i].name, Lines::kOne), kNameCharacters));
  }
  return out;
}

}  // namespace

void UsagePlot::Add(double at_s, std::map<std::string, Usage> cells) {
  samples_.push_back({at_s, std::move(cells)});
  if (samples_.size() > kMaxSamples) samples_.pop_front();
}

// Those that used the most, and the sum of the others.
std::vector<std::string> UsagePlot::Ranked() const {
  std::map<std::string, double> used;
  for (const Sample& sample : samples_) {
    for (const auto& [name, usage] : sample.cells) {
      used[name] += usage.cpu_percent + static_cast<double>(usage.memory_bytes) / (1 << 20);
    }
  }
  std::vector<std::string> names;
  for (const auto& each : used) names.push_back(each.first);
  std::stable_sort(names.begin(), names.end(),
                   [&](const std::string& a, const std::string& b) { return used[a] > used[b]; });
  return names;
}

std::string UsagePlot::Svg() const {
  const std::vector<std::string> names = Ranked();
  std::map<std::string, size_t> line_of;
  std::vector<Curve> curves;
  for (const std::string& name : names) {
    line_of[name] = std::min(line_of.size(), kMaxLines);
    if (line_of[name] == curves.size()) curves.push_back({name, {}, {}});
  }
  if (names.size() > kMaxLines) {
    curves.back().name = std::to_string(names.size() - kMaxLines) + " others";
  }
  const double begin = samples_.empty() ? 0 : samples_.front().at_s;
  for (const Sample& sample : samples_) {
    std::map<size_t, Usage> sums;
    for (const auto& [name, usage] : sample.cells) {
      Usage& sum = sums[line_of[name]];
      sum.cpu_percent += usage.cpu_percent;
      sum.memory_bytes += usage.memory_bytes;
    }
    for (const auto& [line, sum] : sums) {
      curves[line].cpu.push_back({sample.at_s - begin, sum.cpu_percent});
      curves[line].memory.push_back({sample.at_s - begin, static_cast<double>(sum.memory_bytes)});
    }
  }
  const double seconds = samples_.empty() ? 1 : std::max(samples_.back().at_s - begin, 1.0);
  const std::string span = FormatDurationMs(static_cast<uint64_t>(seconds * 1000));
  const Panel cpu = {kTop, RoundUp(std::max(Highest(curves, &Curve::cpu), 10.0)), seconds};
  const Panel memory = {kTop + kPanel + kGap, RoundUpBytes(Highest(curves, &Curve::memory)),
                        seconds};

  std::string out = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + Number(kWidth) +
                    " " + Number(kHeight) + "\" role=\"img\">\n<title>what cells used in " + span +
                    "</title>\n" + kStyle;
  out += Grid(cpu, "CPU, per cent of one",
              [](double value) { return std::to_string(static_cast<int64_t>(value)) + "%"; });
  out +=
      Grid(memory, "memory", [](double value) { return FormatSize(static_cast<uint64_t>(value)); });
  for (size_t i = 0; i < curves.size(); ++i) {
    out += Path(cpu, curves[i].cpu, kColours[i]) + Path(memory, curves[i].memory, kColours[i]);
  }
  const double below = memory.top + kPanel + 20;
  out += Text(kLeft, below, "0 s") + Text(kRight, below, span, "text-anchor=\"end\"");
  if (curves.empty()) out += Text(kLeft + 20, kTop + kPanel / 2, "no cell");
  return out + Legend(curves) + "</svg>\n";
}

}  // namespace odyssey::ctl
