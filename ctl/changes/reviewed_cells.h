#ifndef ODYSSEY_CTL_CHANGES_REVIEWED_CELLS_H_
#define ODYSSEY_CTL_CHANGES_REVIEWED_CELLS_H_

#include "ctl/base/console.h"
#include "ctl/base/locations.h"
#include "odyssey/supervisor/v1/changes.pb.h"

namespace odyssey::ctl {

// How a person names the cell to the commands about changes: the session's id, or the name of
// `exec --cell`; of another one all of its key.
std::string NameOf(const supervisor::v1::CellKey& key);

// `changes` without a word: every cell and session that has reviewed directories, with the counts;
// for a client that may not use the supervisor, the sessions that are its own. Returns the exit
// code.
int ListReviewedCells(const Console& console, const Locations& locations);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_CHANGES_REVIEWED_CELLS_H_
