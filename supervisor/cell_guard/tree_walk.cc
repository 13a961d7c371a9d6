#include "supervisor/cell_guard/tree_walk.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>

namespace odyssey::cell_guard {

namespace {

constexpr int kDirectory = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

}  // namespace

int FindPlace(int root, std::string_view path, Place* place) {
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

int StatBelow(int root, std::string_view path, struct stat* out) {
  Place place;
  if (const int error = FindPlace(root, path, &place); error != 0) return error;
  const int found = fstatat(place.directory.get(), place.name.c_str(), out, AT_SYMLINK_NOFOLLOW);
  return found == 0 ? 0 : errno;
}

bool IsSameFile(const struct stat& one, const struct stat& other) {
  return one.st_dev == other.st_dev && one.st_ino == other.st_ino;
}

std::string Join(const std::string& directory, const std::string& name) {
  if (directory.empty() || name.empty()) return directory + name;
  return directory + "/" + name;
}

std::optional<std::string_view> Below(std::string_view path, std::string_view directory) {
  if (directory.empty()) return path;
  if (path.substr(0, directory.size()) != directory) return std::nullopt;
  if (path.size() == directory.size()) return std::string_view();
  if (path[directory.size()] != '/') return std::nullopt;
  return path.substr(directory.size() + 1);
}

}  // namespace odyssey::cell_guard
