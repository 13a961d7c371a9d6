#include "supervisor/cell_guard/directories.h"

#include <algorithm>

namespace odyssey::cell_guard {
namespace {

std::string_view ParentOf(std::string_view path) {
  path.remove_prefix(std::min(path.find_first_not_of('/'), path.size()));
  const size_t slash = path.rfind('/');
  return path.substr(0, slash == std::string_view::npos ? 0 : slash);
}

}  // namespace

void Directories::AddParentOf(std::string_view path) {
  if (paths_.size() <= kMost && !HasParentOf(path)) paths_.emplace(ParentOf(path));
}

bool Directories::HasParentOf(std::string_view path) const {
  return paths_.size() > kMost || (!paths_.empty() && paths_.contains(ParentOf(path)));
}

}  // namespace odyssey::cell_guard
