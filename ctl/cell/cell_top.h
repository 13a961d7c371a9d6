#ifndef ODYSSEY_CTL_CELL_CELL_TOP_H_
#define ODYSSEY_CTL_CELL_CELL_TOP_H_

// cell top: what cells use, as a table that a terminal shows again every second.

#include <chrono>
#include <string>
#include <vector>

#include "ctl/base/command.h"
#include "ctl/base/console.h"
#include "odyssey/supervisor/v1/supervisor.stub.h"

namespace odyssey::ctl {

struct CellSample {
  supervisor::v1::ListCellsResponse cells;
  std::chrono::steady_clock::time_point at;
};

enum class TopOrder { kCpu, kMemory, kPids, kName };

// The table, a line each: CPU time since `before`, in per cent of one CPU. Lines have at
// most so many columns, of a terminal. Pure.
std::vector<std::string> TopLines(const CellSample& before, const CellSample& now, TopOrder order,
                                  size_t columns, bool color);

// What is above it while it is watched: "3 cells, 1 running   cpu 12%   memory 340M   12 pids".
std::string TopSummary(const CellSample& before, const CellSample& now);

Command CellTopCommand();

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_CELL_CELL_TOP_H_
