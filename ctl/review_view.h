#ifndef ODYSSEY_CTL_REVIEW_VIEW_H_
#define ODYSSEY_CTL_REVIEW_VIEW_H_

// What a cell has made in directories of the host, as lines for people. Pure. Paths are the cell's
// words: nothing of them reaches the terminal as it is.

#include <string>

#include "odyssey/supervisor/v1/supervisor.pb.h"

namespace odyssey::ctl {

// "left: /home/u/p/.envrc: made or changed: …".
std::string FindingLine(const supervisor::v1::Finding& finding);

// What `cell review` prints: a line for each; one that says so if there are none.
std::string FormatReview(const supervisor::v1::ReviewCellResponse& review);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_REVIEW_VIEW_H_
