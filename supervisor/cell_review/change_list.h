#ifndef ODYSSEY_SUPERVISOR_CELL_REVIEW_CHANGE_LIST_H_
#define ODYSSEY_SUPERVISOR_CELL_REVIEW_CHANGE_LIST_H_

// What a scan found as a person sees it: renames, marks, counts, and a digest of what was looked
// at.

#include <optional>
#include <string>
#include <vector>

#include "supervisor/cell_review/scan.h"
#include "supervisor/wire/review_wire.h"

namespace odyssey::cell_review {

struct Listed {
  review::Change change;
  Found found;
  std::optional<Found> from;  // of a rename: what was deleted
};

struct ChangeList {
  std::vector<Listed> changes;  // by path
  review::Counts counts;
  bool truncated = false;
  uint32_t stale = 0;                  // paths
  std::vector<std::string> unmatched;  // selected paths without a change; never the whole directory
  std::string digest;                  // sha256 hex
};

// `selections` of this directory; none: everything.
Result<ChangeList> ListChanges(Reviewed* reviewed, uint32_t directory,
                               const std::vector<review::Selection>& selections,
                               size_t max_changes);

// The list as one of an image's root: nothing is marked or in conflict, since nothing reaches the
// host, and what is at or below one of `leave_out` is left out.
void ForImage(const std::vector<std::string>& leave_out, ChangeList* list);

// Those of `selections` that are of this directory.
std::vector<review::Selection> SelectionsOf(uint32_t directory,
                                            const std::vector<review::Selection>& selections);

}  // namespace odyssey::cell_review

#endif  // ODYSSEY_SUPERVISOR_CELL_REVIEW_CHANGE_LIST_H_
