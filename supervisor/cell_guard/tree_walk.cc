#include "supervisor/cell_guard/tree_walk.h"

#include <errno.h>
#include <fcntl.h>

namespace odyssey::cell_guard {

int FindPlace(int root, std::string_view path, Place* place) {
  constexpr int kDirectory = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
  while (!path.empty() && path.front() == '/') path.remove_prefix(1);
  place->directory = UniqueFd(openat(root, ".", kDirectory));
  for (size_t slash; (slash = path.find('/')) != std::string_view::npos;) {
    if (!place->directory) return errno;
    const std::string name(path.substr(0, slash));
    place->directory = UniqueFd(openat(place->directory.get(), name.c_str(), kDirectory));
    path.remove_prefix(slash + 1);
  }
  if (!place->directory) return errno;
  place->name = path.empty() ? "." : std::string(path);
  return 0;
}

}  // namespace odyssey::cell_guard
