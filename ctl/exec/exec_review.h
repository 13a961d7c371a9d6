#ifndef ODYSSEY_CTL_EXEC_EXEC_REVIEW_H_
#define ODYSSEY_CTL_EXEC_EXEC_REVIEW_H_

// What `exec` does about changes that wait for a commit, once its command has ended.

#include <string>

#include "ctl/base/console.h"
#include "ctl/base/locations.h"

namespace odyssey::ctl {

struct ReviewedExec {
  std::string name;  // of the cell
  std::string cell_id;
  bool generated = false;  // the name: only the changes are asked for again, not the cell
};

// Decides what becomes of the changes. Not while an ExecCall lives, which takes the signals. With
// -o json nothing is said, as the outcome is what ends stderr. A cell of a generated name is ended:
// its changes outlive it. If there are none, nothing is left of it. The exit code stays the
// command's, whatever happens here.
void ReviewAfterExec(const Console& console, const Locations& locations, const ReviewedExec& exec);

// Where the changes will be, said before the command with -o json.
std::string ReviewNotice(const std::string& name);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_EXEC_EXEC_REVIEW_H_
