#ifndef ODYSSEY_SUPERVISOR_CELL_GUARD_DIRECTORIES_H_
#define ODYSSEY_SUPERVISOR_CELL_GUARD_DIRECTORIES_H_

// Some directories of a tree, by their paths in it.

#include <stddef.h>

#include <set>
#include <string>
#include <string_view>

namespace odyssey::cell_guard {

class Directories final {
 public:
  // Beyond that all are taken to be among them: commands name as many as they like.
  static constexpr size_t kMost = 256;

  // The one that a path, "a/b" or "/a/b", lies in.
  void AddParentOf(std::string_view path);
  bool HasParentOf(std::string_view path) const;

 private:
  std::set<std::string, std::less<>> paths_;
};

}  // namespace odyssey::cell_guard

#endif  // ODYSSEY_SUPERVISOR_CELL_GUARD_DIRECTORIES_H_
