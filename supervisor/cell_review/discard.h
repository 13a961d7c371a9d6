#ifndef ODYSSEY_SUPERVISOR_CELL_REVIEW_DISCARD_H_
#define ODYSSEY_SUPERVISOR_CELL_REVIEW_DISCARD_H_

// Forgets what the cell changed: what it wrote is removed from the upper layer, so that the host's
// shows again. The overlay is not mounted meanwhile.

#include "supervisor/cell_review/commit.h"

namespace odyssey::cell_review {

// `list` is of the same selections; none: everything, also what is no change.
Result<Outcome> DiscardChanges(Reviewed* reviewed, const ChangeList& list,
                               const std::vector<review::Selection>& selections);

// Removes from the upper layer what is stale (scan.h), so that the host's shows.
Status Settle(Reviewed* reviewed, size_t max_changes);

}  // namespace odyssey::cell_review

#endif  // ODYSSEY_SUPERVISOR_CELL_REVIEW_DISCARD_H_
