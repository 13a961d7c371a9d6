#include "tests/bench/figure_list.h"

#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string_view>

#include "tests/bench/figures.h"

namespace odyssey::bench {
namespace {

struct Entry {
  std::string_view name;
  Result<Figure> (*measure)(const Supervisor&, const Scale&);
};

constexpr Entry kFigures[] = {
    {"warm", MeasureWarmExec},           {"process", MeasureExecProcess},
    {"cold", MeasureColdCell},           {"claim", MeasureClaim},
    {"parallel", MeasureParallelExecs},  {"stdout", MeasureStdout},
    {"read", MeasureFileRead},           {"memory", MeasureIdleMemory},
    {"many-cells", MeasureManyCells},    {"workspace-size", MeasureWorkspaceSize},
    {"review-commit", MeasureCommit},    {"review-undo", MeasureUndo},
    {"review-list", MeasureListChanges}, {"review-cold", MeasureColdReviewed},
    {"repository", MeasureRepository},   {"turn", MeasureTurn},
    {"turns-per-second", MeasureTurns},  {"grep", MeasureGrep},
    {"replay", MeasureReplay},           {"agentd-start", MeasureAgentdStart},
};

}  // namespace

bool MeasureFigures(const Options& options, std::vector<Figure>* figures) {
  if (geteuid() != 0) {
    fprintf(stderr, "odyssey-bench: making cells needs root\n");
    return false;
  }
  const Scale scale = options.quick ? kQuickScale : Scale{};
  Result<std::unique_ptr<Supervisor>> supervisor = Supervisor::Start();
  if (!supervisor.ok()) {
    fprintf(stderr, "odyssey-bench: %s\n", supervisor.status().ToString().c_str());
    return false;
  }
  bool complete = true;
  for (const Entry& entry : kFigures) {
    if (entry.name.find(options.only) == std::string_view::npos) continue;
    fprintf(stderr, "odyssey-bench: measuring %s\n", entry.name.data());
    Result<Figure> figure = entry.measure(**supervisor, scale);
    if (figure.ok()) {
      figures->push_back(std::move(figure).value());
    } else {
      fprintf(stderr, "odyssey-bench: %s: %s\n", entry.name.data(),
              figure.status().ToString().c_str());
      complete = false;
    }
  }
  return complete;
}

}  // namespace odyssey::bench
