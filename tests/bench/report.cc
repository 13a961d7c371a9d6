#include "tests/bench/report.h"

#include <stdlib.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

namespace odyssey::bench {
namespace {

std::string Number(double value, int decimals) {
  char text[64];
  snprintf(text, sizeof(text), "%.*f", decimals, value);
  return text;
}

std::string Ratio(double value) { return Number(value, 2) + " ×"; }

std::string Factor(double value) { return Number(value, value == static_cast<int>(value) ? 0 : 1); }

std::string Milliseconds(double microseconds) { return Number(microseconds / 1000, 3) + " ms"; }

std::string Nanoseconds(double value) {
  if (value < 1000) return Number(value, 0) + " ns";
  if (value < 1e6) return Number(value / 1e3, 2) + " µs";
  return Number(value / 1e6, 2) + " ms";
}

std::string ProcessorName() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  }
  return "unknown processor";
}

std::string LoadAverage() {
  double averages[3] = {};
  if (getloadavg(averages, 3) != 3) return "unknown";
  return Number(averages[0], 2) + ", " + Number(averages[1], 2) + ", " + Number(averages[2], 2) +
         " (1, 5 and 15 minutes)";
}

std::string TargetsCell(const std::vector<Target>& targets) {
  std::string out;
  for (const Target& target : targets) {
    if (!out.empty()) out += "<br>";
    out += target.demand + ": " + target.measured + (target.met ? ", met" : ", **missed**");
  }
  return out;
}

}  // namespace

Target AtMostTimes(double factor, double ours, double other, const std::string& name) {
  return {"≤ " + Factor(factor) + " × " + name, Ratio(ours / other), ours <= factor * other};
}

Target AtLeastTimesFaster(double factor, double ours, double other, const std::string& name) {
  return {"≥ " + Factor(factor) + " × faster than " + name, Ratio(other / ours),
          factor * ours <= other};
}

Target AtMostMilliseconds(double bound_ms, double ours_us) {
  return {"p50 ≤ " + Number(bound_ms, 1) + " ms", Milliseconds(ours_us),
          ours_us <= bound_ms * 1000};
}

Target AtMostMillisecondsMore(double bound_ms, double ours_us, double other_us,
                              const std::string& name) {
  return {"≤ " + Number(bound_ms, 1) + " ms more than " + name, Milliseconds(ours_us - other_us),
          ours_us - other_us <= bound_ms * 1000};
}

std::string Times(const Samples& microseconds) {
  return "p50 " + Milliseconds(microseconds.Median()) + ", p99 " + Milliseconds(microseconds.P99());
}

std::vector<std::string> HostLines(int argc, char** argv) {
  const time_t now = time(nullptr);
  tm utc;
  char date[32];
  strftime(date, sizeof(date), "%Y-%m-%d %H:%M UTC", gmtime_r(&now, &utc));
  utsname kernel;
  ODY_CHECK(uname(&kernel) == 0);
  std::string command = "odyssey-bench";
  for (int i = 1; i < argc; ++i) command += std::string(" ") + argv[i];
  return {std::string("Date: ") + date,
          std::string("Kernel: ") + kernel.sysname + " " + kernel.release + " " + kernel.machine,
          "Processor: " + ProcessorName() + ", " + std::to_string(sysconf(_SC_NPROCESSORS_ONLN)) +
              " cores",
          "Load average at the start: " + LoadAverage(), "Command: `" + command + "`"};
}

std::string ToMarkdown(const Report& report) {
  std::string out =
      "# Benchmarks\n\n"
      "Written by `./dev bench --write docs/BENCHMARKS.md`; `tests/bench/README.md` says what is\n"
      "measured and how. Floor and peer are measured in the same run, in turn with Odyssey. A "
      "machine\n"
      "that does other work (see its load) makes every time longer: compare the ratios.\n\n"
      "Of reviewed writes: commit and undo of changed files beside `cp -a` of as many, the list "
      "of\n"
      "changes in a large tree beside a small one, a cold cell beside one that writes directly; "
      "of\n"
      "direct writes: `git status` and `grep -r` beside the host.\n\n";
  for (const std::string& line : report.host) out += "- " + line + "\n";
  if (!report.figures.empty()) {
    out += "\n## Whole path\n\n| figure | Odyssey | floor | peer | target: measured |\n";
    out += "|---|---|---|---|---|\n";
  }
  for (const Figure& f : report.figures) {
    out += "| " + f.what + " | " + f.odyssey + " | " + f.floor + " | " + f.peer + " | " +
           TargetsCell(f.targets) + " |\n";
  }
  if (!report.parts.empty()) out += "\n## Parts\n\n| part | median time |\n|---|---|\n";
  for (const Part& part : report.parts) {
    out += "| " + part.name + " | " + Nanoseconds(part.median_ns) + " |\n";
  }
  return out;
}

}  // namespace odyssey::bench
