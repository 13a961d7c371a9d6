#ifndef ODYSSEY_SUPERVISOR_CELL_REVIEW_COMMIT_H_
#define ODYSSEY_SUPERVISOR_CELL_REVIEW_COMMIT_H_

// Commit and undo of one reviewed directory, and what a crash left of either.

#include <string>
#include <vector>

#include "supervisor/cell_review/change_list.h"
#include "supervisor/wire/review_wire.h"

namespace odyssey::cell_review {

struct Refused {
  std::string path;
  std::string why;
  std::string mark;  // not empty: left out since it is marked
};

struct Outcome {
  uint64_t commit = 0;  // its number; 0: nothing was committed
  uint32_t done = 0;    // paths
  std::vector<Refused> refused;
};

// Takes back a commit or undo that was cut off. Before anything else is done with the directory.
Status Recover(Reviewed* reviewed);
Result<bool> IsCutOff(Reviewed* reviewed);

// The number of the newest commit that can be undone; 0: there is none.
Result<uint64_t> NewestCommit(Reviewed* reviewed);

// As commit `number`. `list` is of the same selections, which say what may be committed although it
// is marked, and which hunks of a file.
Result<Outcome> CommitChanges(Reviewed* reviewed, uint64_t number, const ChangeList& list,
                              const std::vector<review::Selection>& selections);

// Nothing if this directory has no such commit.
Result<Outcome> UndoCommit(Reviewed* reviewed, uint64_t number);

}  // namespace odyssey::cell_review

#endif  // ODYSSEY_SUPERVISOR_CELL_REVIEW_COMMIT_H_
