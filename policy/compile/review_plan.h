#ifndef ODYSSEY_POLICY_COMPILE_REVIEW_PLAN_H_
#define ODYSSEY_POLICY_COMPILE_REVIEW_PLAN_H_

// The plan of a review cell: the one place where a reviewed directory, what a cell changed of it,
// and the journal of commits are seen together. Its only process is odyssey-cell-review. Pure.

#include <string>
#include <vector>

#include "common/base/status.h"
#include "policy/plan/plan.h"

namespace odyssey::compile {

// A directory whose writes wait for a commit, as the plan of its cell has it.
struct ReviewedDirectory {
  std::string source;  // on the host
  std::string target;  // in the cell
  friend bool operator==(const ReviewedDirectory&, const ReviewedDirectory&) = default;
};

// In the order of the plan, which is that of the numbers below kReviewPath.
std::vector<ReviewedDirectory> ReviewedDirectories(const plan::Plan& cell);

// What the review cell writes to.
enum class ReviewWrites {
  kStore,  // base records alone: for lists, diffs, and the log
  kHost,   // … and the directories: for commit and undo
  kUpper,  // … and what the cell changed: for discard
};

// `/review/N/{host,upper,store}` for each reviewed directory. Without cell_id, and with the cell's
// own cell_tree and disk.
plan::Plan ReviewPlan(const plan::Plan& cell, ReviewWrites writes);

// `/review/N/{host,against,upper}` for each reviewed directory of `cell`; `against` is what the
// cell `other` changed of the same one. FAILED_PRECONDITION: `other` does not have it, or one of
// the two has a disk of its own.
Result<plan::Plan> ComparePlan(const plan::Plan& cell, const plan::Plan& other);

// The cell's root is the image of `layers` alone, `/review/0/upper` what the cell with the tree
// `cell_tree` changed of it. `scratch` is the cell_tree, of which nothing has to last. Its process
// is root of the cell, with the capabilities of package managers there. Without cell_id.
plan::Plan RootReviewPlan(const std::string& scratch, const std::string& cell_tree,
                          const std::vector<std::string>& layers);

// `/review/{from,to}/…`: the directories of two cells' trees, `from` read-only. `to` has the new
// cell's cell_tree, and the disk, if it has one, that both have. Without cell_id.
plan::Plan ForkPlan(const plan::Plan& to, const std::string& from_tree);

}  // namespace odyssey::compile

#endif  // ODYSSEY_POLICY_COMPILE_REVIEW_PLAN_H_
