#ifndef ODYSSEY_SUPERVISOR_CELL_REVIEW_COMPARE_H_
#define ODYSSEY_SUPERVISOR_CELL_REVIEW_COMPARE_H_

// What two cells made of one directory of the host. It walks the two upper layers, and of the
// host's what one of them hides: the cost is that of the changes.

#include <functional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "supervisor/cell_review/layer.h"
#include "supervisor/wire/review_wire.h"

namespace odyssey::cell_review {

struct Compared {
  Layer host, against, upper;
};

// `directory`/{host,against,upper}.
Result<Compared> OpenCompared(const std::string& directory);

// Gives `tell` the difference of each selected path (`selections` of this directory; none: all), by
// path, as `git diff` shows it: from what the cell of `against` sees to what that of `upper` sees.
// Stops at the first status of `tell` that is not OK, and returns it.
Status Compare(Compared* layers, const std::vector<review::Selection>& selections,
               const std::function<Status(const std::string& text)>& tell);

}  // namespace odyssey::cell_review

#endif  // ODYSSEY_SUPERVISOR_CELL_REVIEW_COMPARE_H_
