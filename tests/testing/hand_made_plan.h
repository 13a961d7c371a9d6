#ifndef ODYSSEY_TESTS_TESTING_HAND_MADE_PLAN_H_
#define ODYSSEY_TESTS_TESTING_HAND_MADE_PLAN_H_

// Parts of plans and confinements as the compiler makes them, for tests of what reads them: by
// hand, so that their answers do not depend on the compiler's choices.

#include <string>
#include <utility>
#include <vector>

#include "policy/plan/plan.h"
#include "supervisor/wire/cell_wire.h"

namespace odyssey::testing {

// The system's programs.
inline plan::Entry SystemTree() {
  return {.kind = plan::EntryKind::kHostTree,
          .target = "/usr",
          .source = "/usr",
          .executable = true,
          .ownership = plan::Ownership::kUnmapped};
}

inline plan::Entry Link(std::string target, std::string to) {
  return {.kind = plan::EntryKind::kSymlink, .target = std::move(target), .source = std::move(to)};
}

inline plan::Entry HostTree(std::string target, std::string source,
                            plan::Access access = plan::Access::kReadOnly) {
  return {.kind = plan::EntryKind::kHostTree,
          .target = std::move(target),
          .source = std::move(source),
          .access = access};
}

// Everything is read, the system's programs are executed, and these places are written.
inline std::vector<cell::LandlockRule> RulesWriting(const std::vector<std::string>& writable) {
  std::vector<cell::LandlockRule> rules = {{"/", cell::kRead},
                                           {"/usr", cell::kRead | cell::kExecute}};
  for (const std::string& path : writable) rules.push_back({path, cell::kRead | cell::kWrite});
  return rules;
}

}  // namespace odyssey::testing

#endif  // ODYSSEY_TESTS_TESTING_HAND_MADE_PLAN_H_
