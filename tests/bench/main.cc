// odyssey-bench: how fast, beside the floor and the peer. Prints a Markdown report.

#include <cstdio>
#include <fstream>
#include <string>

#include "tests/bench/figure_list.h"
#include "tests/bench/options.h"
#include "tests/bench/parts.h"
#include "tests/bench/report.h"

namespace bench = odyssey::bench;

int main(int argc, char** argv) {
  const auto options = bench::ParseOptions(argc, argv);
  if (!options.ok()) {
    fprintf(stderr, "odyssey-bench: %s\n", options.status().message().c_str());
    return 2;
  }
  bench::Report report{.host = bench::HostLines(argc, argv)};
  bool failed = false;
  if (options->what != bench::What::kParts) {
    failed = !bench::MeasureFigures(*options, &report.figures);
  }
  if (options->what != bench::What::kFigures) {
    report.parts = bench::MeasureParts(options->only, options->quick);
  }
  const std::string text = bench::ToMarkdown(report);
  fputs(text.c_str(), stdout);
  if (options->write.empty() || failed) return failed ? 1 : 0;
  if (std::ofstream(options->write) << text << std::flush) return 0;
  fprintf(stderr, "odyssey-bench: cannot write %s\n", options->write.c_str());
  return 1;
}
