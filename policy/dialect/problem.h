#ifndef ODYSSEY_POLICY_DIALECT_PROBLEM_H_
#define ODYSSEY_POLICY_DIALECT_PROBLEM_H_

// What is wrong in a file that a person wrote, and where. A reader collects all of them.

#include <string>
#include <vector>

#include "common/base/status.h"

namespace odyssey::dialect {

enum class ProblemKind { kIo, kJson5, kYaml, kManifest, kPolicy };

struct Problem {
  ProblemKind kind = ProblemKind::kManifest;
  std::string file;  // "": what has no file, such as an option
  int line = 0;      // 1-based; 0 = the file as a whole
  std::string key;   // "sandbox.permissions.network", "skills[1].path"; "" = none
  std::string message;
  friend bool operator==(const Problem&, const Problem&) = default;
};

using Problems = std::vector<Problem>;

// "file:line: key: message", without what is not there.
std::string ToString(const Problem& problem);

// The first problem as an INVALID_ARGUMENT (NOT_FOUND for a missing file): "json5 parse error at
// file:line: key: message", likewise "yaml parse error at", "io error at", "invalid manifest at",
// "invalid policy at"; with " (and N more)" if there are others. `problems` is not empty.
Status ToStatus(const Problems& problems);

}  // namespace odyssey::dialect

#endif  // ODYSSEY_POLICY_DIALECT_PROBLEM_H_
