#ifndef ODYSSEY_SUPERVISOR_CELL_INIT_KEPT_REPOSITORIES_H_
#define ODYSSEY_SUPERVISOR_CELL_INIT_KEPT_REPOSITORIES_H_

#include <string>
#include <vector>

#include "common/base/status.h"
#include "common/os/unique_fd.h"
#include "policy/plan/cell_wire.h"
#include "supervisor/cell_init/endpoint_watch.h"

namespace odyssey::cell_init {

// Where a guard goes. Opened before there is one anywhere: a guard that is not served yet answers
// nobody.
struct GuardPlace {
  cell::Guard guard;
  UniqueFd tree;
};

struct KeptRepositories {
  std::vector<GuardPlace> guards;  // none lies in another
  std::vector<cell::Repository> said;
  std::vector<std::string> found;  // every repository in the searched trees
};

// Which of the guards that `configure` asks for are needed; then looks for repositories in the
// trees that it names, and for other directories with protected names in them, and does for each
// what the plan does for the top of a tree: names that the host's tools obey become read-only
// mounts where they exist, and each directory on the way to them a mount that cannot be moved
// aside. The guards are for StartGuards. Caller is as for that. From then on `watch` sees what is
// made in the directories that were searched.
Result<KeptRepositories> KeepRepositories(const cell::Configure& configure, EndpointWatch* watch);

// Adds the git directory at `path`, in the guard around it or with those that lie in it: a guard
// does not look through another. Nothing changes if it is guarded already.
void AddGuard(const std::string& path, UniqueFd directory, std::vector<GuardPlace>* guards);

}  // namespace odyssey::cell_init

#endif  // ODYSSEY_SUPERVISOR_CELL_INIT_KEPT_REPOSITORIES_H_
