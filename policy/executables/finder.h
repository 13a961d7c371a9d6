#ifndef ODYSSEY_POLICY_EXECUTABLES_FINDER_H_
#define ODYSSEY_POLICY_EXECUTABLES_FINDER_H_

// The named executables of this host, as the compiler takes them. Looks once; then looks again only
// when something that it saw has changed.

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "common/base/status.h"
#include "policy/compile/found_executables.h"
#include "policy/executables/host_tree.h"

namespace odyssey::executables {

class Finder final {
 public:
  // `root`: see HostTree.
  explicit Finder(std::string root = "") : tree_(std::move(root)) {}

  // `names`: what compile::SystemExecutables gives. NOT_FOUND "executables: missing system tool:
  // NAME"; FAILED_PRECONDITION naming what cannot be run and why. May be called by any thread.
  Result<compile::FoundExecutables> Find(const std::vector<std::string>& names);

 private:
  struct Answer {
    compile::FoundExecutables found;
    std::map<std::string, std::optional<FileInfo>> seen;
    std::map<std::string, std::string> resolved;
    bool settled = false;
  };

  Result<Answer> Look(const std::vector<std::string>& names) const;
  bool Holds(const Answer& answer) const;

  const HostTree tree_;
  std::mutex mutex_;
  std::map<std::vector<std::string>, Answer> answers_;  // guarded by mutex_
};

}  // namespace odyssey::executables

#endif  // ODYSSEY_POLICY_EXECUTABLES_FINDER_H_
