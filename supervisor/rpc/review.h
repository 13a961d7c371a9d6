#ifndef ODYSSEY_SUPERVISOR_RPC_REVIEW_H_
#define ODYSSEY_SUPERVISOR_RPC_REVIEW_H_

// What a cell made in the host's writable trees, for people: odyssey.supervisor.v1.Finding as a
// value, and what is asked of the file worker to know it. Pure.

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "policy/compile/compile.h"
#include "policy/plan/tool_wire.h"

namespace odyssey::supervisor {

enum class FindingKind { kName, kRepository, kBareRepository, kRebase, kUnfinished, kEndpoint };

struct Finding {
  FindingKind kind = FindingKind::kName;
  std::string path;  // in the cell
  std::string host_path;
  std::string reason;
  friend bool operator==(const Finding&, const Finding&) = default;
};

enum class ReviewScope { kAll, kNews };

// What of a cell has been told.
using ToldFindings = std::set<std::pair<FindingKind, std::string>>;

// There are writable trees of the host in which something is protected.
bool IsReviewable(const compile::Compiled& compiled);

tool::Request ReviewRequest(const compile::Compiled& compiled);

// By path. It is of a cell: what it says of places that are in none of its writable host trees is
// left out, and so is what is beyond the bounds.
std::vector<Finding> JudgeReview(const compile::Compiled& compiled, const tool::Response& review);

// Leaves out what is in `told`, which becomes what was told of what is still there.
std::vector<Finding> TakeNews(const std::vector<Finding>& findings, ToldFindings* told);

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_REVIEW_H_
