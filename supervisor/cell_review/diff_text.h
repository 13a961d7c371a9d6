#ifndef ODYSSEY_SUPERVISOR_CELL_REVIEW_DIFF_TEXT_H_
#define ODYSSEY_SUPERVISOR_CELL_REVIEW_DIFF_TEXT_H_

// A change as `git diff` shows it, from the host's file to the cell's.

#include <string>

#include "supervisor/cell_review/change_list.h"

namespace odyssey::cell_review {

// Never fails: what cannot be read is said in its place.
std::string DiffText(Reviewed* reviewed, const Listed& listed);

}  // namespace odyssey::cell_review

#endif  // ODYSSEY_SUPERVISOR_CELL_REVIEW_DIFF_TEXT_H_
