#ifndef ODYSSEY_POLICY_EXPLAIN_ANYWHERE_H_
#define ODYSSEY_POLICY_EXPLAIN_ANYWHERE_H_

// A relative name whose directory is not known. Pure.

#include <optional>
#include <string>

#include "policy/explain/explain.h"

namespace odyssey::explain {

struct Found {
  std::string name;  // absolute if only one file can be meant, else as it was given
  Answer answer;     // refused
};

// What refuses `name` wherever it is: the name itself, or with `by_mount` what holds for the trees
// that it can be in. The grant is one that does not depend on the directory, or "". nullopt if
// nothing is known to refuse it.
std::optional<Found> ExplainAnywhere(const Cell& cell, const std::string& name, Access access,
                                     bool by_mount);

}  // namespace odyssey::explain

#endif  // ODYSSEY_POLICY_EXPLAIN_ANYWHERE_H_
