#include "supervisor/cell_guard/open_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

namespace odyssey::cell_guard {
namespace {

constexpr std::string_view kGone = " (deleted)";

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// Both as PathOf has them.
std::optional<std::string_view> BelowPlace(std::string_view path, std::string_view directory) {
  if (path.empty() || directory.empty()) return std::nullopt;
  return Below(Relative(path), Relative(directory));
}

bool IsAt(int root, std::string_view path, const struct stat& file) {
  struct stat named;
  return StatBelow(root, path, &named) == 0 && IsSameFile(named, file);
}

}  // namespace

std::string PathOf(int fd) {
  char path[PATH_MAX];
  const std::string link = "/proc/self/fd/" + std::to_string(fd);
  const ssize_t n = readlink(link.c_str(), path, sizeof(path));
  return {path, static_cast<size_t>(std::max<ssize_t>(n, 0))};
}

OpenFile::OpenFile(const GuardedTree& tree, int fd) : tree_(tree), fd_(fd) {
  struct stat file;
  if (fstat(fd, &file) == 0) name_ = Find(file);
}

OpenFile::Name OpenFile::Find(const struct stat& file) {
  if (file.st_nlink == 0) return Name::kNone;
  const std::string path = PathOf(fd_);
  auto below = BelowPlace(path, tree_.root_path);
  if (!below) below = BelowPlace(path, PathOf(tree_.root.get()));  // the host has renamed it
  if (!below) return Name::kUnknown;
  path_ = *below;
  // A file may be called so as well.
  if (EndsWith(path_, kGone) && !IsAt(tree_.root.get(), path_, file)) return Name::kUnknown;
  return Name::kHere;
}

int OpenFile::Refusal() const {
  if (name_ == Name::kNone) return 0;
  return name_ == Name::kUnknown || tree_.Denied(path_) ? EACCES : 0;
}

}  // namespace odyssey::cell_guard
