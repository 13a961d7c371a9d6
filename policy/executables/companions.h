#ifndef ODYSSEY_POLICY_EXECUTABLES_COMPANIONS_H_
#define ODYSSEY_POLICY_EXECUTABLES_COMPANIONS_H_

// A tool is more than its file: what it loads or starts by paths that no ELF header names. A table,
// shown by `policy explain` and documented in docs/policy/executables.md.

#include <string>
#include <vector>

namespace odyssey::executables {

struct Companion {
  std::string path;  // a file or a directory; may be missing on this host
  bool run = false;
  std::string what;
};

// Of a canonical path.
std::vector<Companion> CompanionsOf(const std::string& path);

// Whether the program at a path compiles while it runs, by its name. A table, as above.
bool CompilesWhileItRuns(const std::string& path);

}  // namespace odyssey::executables

#endif  // ODYSSEY_POLICY_EXECUTABLES_COMPANIONS_H_
