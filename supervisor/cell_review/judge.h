#ifndef ODYSSEY_SUPERVISOR_CELL_REVIEW_JUDGE_H_
#define ODYSSEY_SUPERVISOR_CELL_REVIEW_JUDGE_H_

// Whether a path is a change of the cell's, and whether the host's own stands in its way. Pure.

#include "supervisor/cell_review/base_store.h"
#include "supervisor/wire/review_wire.h"

namespace odyssey::cell_review {

enum class Verdict {
  kNothing,   // the cell's is what the host has, or what the cell found
  kClean,     // the host has what the cell found
  kConflict,  // the host has something else again
};

// kNone as a state: nothing is there; in the upper layer: deleted.
Verdict Judge(const Base& base, const State& upper, const State& host);

review::ChangeKind KindOfChange(const State& host, const State& upper);

// st_mode; 0: there is none.
uint32_t ModeOf(const State& state);

}  // namespace odyssey::cell_review

#endif  // ODYSSEY_SUPERVISOR_CELL_REVIEW_JUDGE_H_
