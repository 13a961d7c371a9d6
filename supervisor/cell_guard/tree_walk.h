#ifndef ODYSSEY_SUPERVISOR_CELL_GUARD_TREE_WALK_H_
#define ODYSSEY_SUPERVISOR_CELL_GUARD_TREE_WALK_H_

#include <sys/stat.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <string_view>

#include "common/os/unique_fd.h"

namespace odyssey::cell_guard {

// Where an operation takes place: a directory beneath the root and a name in it. Reached a
// component at a time without following a link, so that one swapped in meanwhile leads nowhere.
struct Place {
  UniqueFd directory;  // O_PATH
  std::string name;    // "." for the root itself
};

// 0, or the errno. `path` as FUSE gives it: "/a/b", "/" for the root.
int FindPlace(int root, std::string_view path, Place* place);

// What is at the path itself, reached in the same way: 0, or the errno.
int StatBelow(int root, std::string_view path, struct stat* out);
bool IsSameFile(const struct stat& one, const struct stat& other);

// `name` in `directory`; either may be empty.
std::string Join(const std::string& directory, const std::string& name);

// `path` below `directory`, by their names; nullopt if it lies elsewhere. "" contains everything.
std::optional<std::string_view> Below(std::string_view path, std::string_view directory);

}  // namespace odyssey::cell_guard

#endif  // ODYSSEY_SUPERVISOR_CELL_GUARD_TREE_WALK_H_
