#ifndef ODYSSEY_SUPERVISOR_CELL_INIT_TREE_REVIEW_H_
#define ODYSSEY_SUPERVISOR_CELL_INIT_TREE_REVIEW_H_

// What a cell has made in the host's writable trees that programs of the host would run or obey
// later (ADR 0027). Looked for by the file worker, when it is asked: with the cell's own rights,
// without following a link, within bounds.

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "policy/plan/tool_wire.h"
#include "supervisor/cell_guard/repository_search.h"

namespace odyssey::cell_init {

// When the cell's first command could have begun, by the clock that the kernel stamps inodes with.
struct StartTime {
  int64_t real_ns = 0;  // since 1970
  int64_t boot_ns = 0;  // since the machine started: nobody sets this one

  static StartTime Now();
  // What has been changed since then is stamped with this or later. A clock that was set back
  // meanwhile is allowed for.
  int64_t FirstChange(const StartTime& now) const;
};

// What there was when the cell started.
struct TreesAtStart {
  std::vector<std::string> trees;         // in which names and repositories are looked for
  std::vector<std::string> names;         // protected ones, relative to any directory
  std::vector<std::string> repositories;  // that were found, absolute in the cell
  StartTime time;
};

struct ReviewBounds {
  cell_guard::SearchBounds search = {
      .directories = 4096, .entries = 65536, .leaf_entries = 131072, .repositories = 256};
  size_t findings = tool::kMaxFindings;
  size_t inside = 16384;  // entries below protected directories that are looked at
  std::chrono::milliseconds time = std::chrono::seconds(5);
};

// Names that were made or changed since the start where nothing kept them (what is read-only was
// not the cell's to change), repositories that were not there, rebases that were begun. `places`
// are looked at besides, absolute in the cell. A tree that was not looked at as a whole is
// tool::kUnfinished.
tool::Response ReviewTrees(const TreesAtStart& start, const std::vector<std::string>& places,
                           const ReviewBounds& bounds = {});

}  // namespace odyssey::cell_init

#endif  // ODYSSEY_SUPERVISOR_CELL_INIT_TREE_REVIEW_H_
