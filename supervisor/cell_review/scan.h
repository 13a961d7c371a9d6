#ifndef ODYSSEY_SUPERVISOR_CELL_REVIEW_SCAN_H_
#define ODYSSEY_SUPERVISOR_CELL_REVIEW_SCAN_H_

// What the upper layer says of the host's directory. It walks the upper layer, and of the host's
// what was deleted or replaced: the cost is that of the changes.

#include <string>
#include <vector>

#include "common/base/status.h"
#include "supervisor/cell_review/base_store.h"
#include "supervisor/cell_review/judge.h"
#include "supervisor/cell_review/layer.h"

namespace odyssey::cell_review {

// The layers of one reviewed directory.
struct Reviewed {
  Layer host, upper, store;
};

// `directory` has upper and store; `below` is what the upper one lies on.
Result<Reviewed> OpenReviewed(const std::string& directory, const std::string& below);

// A path that the cell changed.
struct Found {
  std::string path;
  Verdict verdict = Verdict::kClean;
  State host, upper;
  Node host_node, upper_node;
  std::string conflict;  // with kConflict
};

struct Scan {
  std::vector<Found> found;  // by path; what is kNothing is left out
  // Of that, no directories: the cell left it as it was, or as it was committed, and the host has
  // changed it since. While the upper layer has it, the cell does not see the host's.
  std::vector<std::string> stale;
  BaseStore bases;
  bool truncated = false;
};

// Saves what it recorded of bases.
Result<Scan> ScanChanges(Reviewed* reviewed, size_t max_found);

// Whether the cell sees a path: in the upper layer, or through it.
bool IsInMergedView(Reviewed* reviewed, const std::string& path);

}  // namespace odyssey::cell_review

#endif  // ODYSSEY_SUPERVISOR_CELL_REVIEW_SCAN_H_
