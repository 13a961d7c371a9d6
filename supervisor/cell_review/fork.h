#ifndef ODYSSEY_SUPERVISOR_CELL_REVIEW_FORK_H_
#define ODYSSEY_SUPERVISOR_CELL_REVIEW_FORK_H_

#include <string>

#include "common/base/status.h"

namespace odyssey::cell_review {

// FAILED_PRECONDITION, which names the path, if anything but directories is below `directory`.
Status CheckEmpty(const std::string& directory);

// Copies everything below `from` to `to`, which is empty: files (by reflink where the file system
// can), directories, links, whiteouts, modes, times of files, and the marks of an overlay. What an
// overlay works with (`changes/*/work`) is left out; sockets and pipes are too.
Status CopyTree(const std::string& from, const std::string& to);

}  // namespace odyssey::cell_review

#endif  // ODYSSEY_SUPERVISOR_CELL_REVIEW_FORK_H_
