#ifndef ODYSSEY_POLICY_EXECUTABLES_LIBRARY_SEARCH_H_
#define ODYSSEY_POLICY_EXECUTABLES_LIBRARY_SEARCH_H_

// Where the dynamic loader looks for libraries: ld.so(8), but for ld.so.cache, whose contents come
// from the same directories, and for variables of the environment.

#include <string>
#include <vector>

#include "policy/executables/host_tree.h"

namespace odyssey::executables {

class LibrarySearch final {
 public:
  // Reads /etc/ld.so.conf and what it includes. `tree` is borrowed.
  explicit LibrarySearch(const HostTree* tree);

  // One more directory for every library: that of the loader, where its own are.
  void AddDirectory(const std::string& directory);

  // Every file, canonical, that the loader could take for `name`: those in `own` first. All of
  // them and not the first, since which one it takes depends on the processor and on its cache.
  std::vector<std::string> Find(const std::string& name, const std::vector<std::string>& own) const;

  // What to watch for changes: the directories, and the files that list them.
  std::vector<std::string> Consulted() const;

 private:
  void ReadConfiguration(const std::string& file, int depth);
  void Include(const std::string& pattern, int depth);

  const HostTree* const tree_;
  std::vector<std::string> directories_;  // canonical
  std::vector<std::string> files_;
};

// Directories of DT_RPATH or DT_RUNPATH of the object in `origin`: $ORIGIN filled in; what is
// relative, or has another variable in it, is left out.
std::vector<std::string> ExpandOrigin(const std::vector<std::string>& directories,
                                      const std::string& origin);

}  // namespace odyssey::executables

#endif  // ODYSSEY_POLICY_EXECUTABLES_LIBRARY_SEARCH_H_
