#include "supervisor/cell_guard/guarded_tree.h"

#include <errno.h>

#include <algorithm>

namespace odyssey::cell_guard {

std::string_view Relative(std::string_view path) {
  return path.substr(std::min(path.find_first_not_of('/'), path.size()));
}

int GuardedTree::Enter(std::string_view path, Place* place) const {
  if (Denied(path)) return EACCES;
  return FindPlace(root.get(), path, place);
}

int GuardedTree::EnterToChange(std::string_view path, Change change, Place* place) const {
  if (const int error = Enter(path, place); error != 0) return error;
  return git.Refusal(Relative(path), change);
}

bool GuardedTree::Denied(std::string_view path) const {
  if (git.Hides(Relative(path))) return true;
  return std::any_of(deny.begin(), deny.end(), [path](const pattern::PathPattern& pattern) {
    return pattern.Covers(Relative(path));
  });
}

bool GuardedTree::CoversOtherwise(std::string_view one, std::string_view other) const {
  return std::any_of(deny.begin(), deny.end(), [&](const pattern::PathPattern& pattern) {
    return !pattern.IsSameBelow(Relative(one), Relative(other));
  });
}

bool GuardedTree::RenamesTakeTurns() const {
  return !git.LocksTree() && std::any_of(deny.begin(), deny.end(), [](const auto& pattern) {
    return pattern.HasPlacesAlike();
  });
}

}  // namespace odyssey::cell_guard
