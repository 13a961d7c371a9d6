#ifndef ODYSSEY_POLICY_LATTICE_TREES_H_
#define ODYSSEY_POLICY_LATTICE_TREES_H_

// The order of trees, for rights.cc.

#include <optional>
#include <vector>

#include "policy/lattice/rights.h"

namespace odyssey::lattice {

// Whether `child` lies in `parent`, which is one of the trees of `around`.
bool LiesIn(const Tree& child, const Tree& parent, const Rights& around);

// The most that a tree of `first` and one of `second` have in common.
std::optional<Tree> MeetTrees(const Tree& a, const Rights& first, const Tree& b,
                              const Rights& second);

// Sorts the trees of `rights` and drops those that lie in another.
void Reduce(Rights* rights);

}  // namespace odyssey::lattice

#endif  // ODYSSEY_POLICY_LATTICE_TREES_H_
