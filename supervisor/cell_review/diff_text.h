#ifndef ODYSSEY_SUPERVISOR_CELL_REVIEW_DIFF_TEXT_H_
#define ODYSSEY_SUPERVISOR_CELL_REVIEW_DIFF_TEXT_H_

// A change as `git diff` shows it.

#include <string>

#include "supervisor/cell_review/layer.h"
#include "supervisor/wire/review_wire.h"

namespace odyssey::cell_review {

// What a layer has at the change's path.
struct Version {
  Layer* layer;
  const State& state;
};

// Never fails: what cannot be read is said in its place.
std::string DiffText(const Version& before, const Version& after, const review::Change& change);

}  // namespace odyssey::cell_review

#endif  // ODYSSEY_SUPERVISOR_CELL_REVIEW_DIFF_TEXT_H_
