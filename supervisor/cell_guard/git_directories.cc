#include "supervisor/cell_guard/git_directories.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

namespace odyssey::cell_guard {
namespace {

using pattern::GitName;

// What an open file must not be when it is written to.
constexpr const char* kReplacedByRename[] = {"HEAD", "config", "config.worktree", "commondir"};

// 0 where there is nothing.
mode_t TypeAt(const Place& place) {
  struct stat info;
  const int found = fstatat(place.directory.get(), place.name.c_str(), &info, AT_SYMLINK_NOFOLLOW);
  return found == 0 ? info.st_mode & S_IFMT : 0;
}

// A file that git would read as HEAD, and that has no other name through which it could be changed
// afterwards. Who has it open is stopped by HandleRefusal.
bool MayBecomeHead(const Place& place) {
  const UniqueFd fd(openat(place.directory.get(), place.name.c_str(),
                           O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat info;
  if (!fd || fstat(fd.get(), &info) != 0) return false;
  if (!S_ISREG(info.st_mode) || info.st_nlink != 1 || (info.st_mode & S_IRUSR) == 0) return false;
  char text[pattern::kMaxHeadBytes + 1];
  const ssize_t n = pread(fd.get(), text, sizeof(text), 0);
  return n >= 0 && pattern::IsValidHead(std::string_view(text, static_cast<size_t>(n)));
}

}  // namespace

GitDirectories::GitDirectories(int tree, const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    Place place;
    if (FindPlace(tree, path, &place) != 0) continue;
    UniqueFd root(openat(place.directory.get(), place.name.c_str(),
                         O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat head;
    if (!root || fstatat(root.get(), "HEAD", &head, AT_SYMLINK_NOFOLLOW) != 0) continue;
    directories_.push_back({path, std::move(root)});
  }
}

GitName GitDirectories::NameOf(std::string_view path) const {
  for (const Directory& directory : directories_) {
    const auto below = Below(path, directory.path);
    if (!below) continue;
    const GitName name = pattern::NameInGitDirectory(*below);
    if (name != GitName::kData) return name;
  }
  return GitName::kData;
}

bool GitDirectories::GivesMeaning(std::string_view path) const {
  return std::any_of(directories_.begin(), directories_.end(), [path](const Directory& directory) {
    const auto below = Below(path, directory.path);
    return below && pattern::GivesNamesTheirMeaning(*below);
  });
}

bool GitDirectories::Holds(std::string_view path) const {
  return std::any_of(directories_.begin(), directories_.end(), [path](const Directory& directory) {
    return Below(path, directory.path).has_value();
  });
}

int GitDirectories::Refusal(std::string_view path, Change change) const {
  switch (NameOf(path)) {
    case GitName::kObeyed:
      return EROFS;
    case GitName::kNeeded:
      return change == Change::kMakeDirectory || change == Change::kTimes ? 0 : EROFS;
    case GitName::kHead:
      return change == Change::kTimes ? 0 : EROFS;
    case GitName::kLeadsBack:
      return change == Change::kMake || change == Change::kRemove ? 0 : EROFS;
    case GitName::kData:
      break;
  }
  // git follows links where it writes messages and logs, and makes none there itself.
  return change == Change::kMakeLink && Holds(path) ? EPERM : 0;
}

int GitDirectories::RenameRefusal(std::string_view from, const Place& from_place,
                                  std::string_view to, const Place& to_place,
                                  unsigned flags) const {
  if (!Holds(from) && !Holds(to)) return 0;
  const bool exchange = (flags & RENAME_EXCHANGE) != 0;
  const GitName target = NameOf(to);
  if (NameOf(from) != GitName::kData) return EROFS;
  if (target != GitName::kData && (target != GitName::kHead || exchange)) return EROFS;
  if (target == GitName::kHead && !MayBecomeHead(from_place)) return EROFS;
  const mode_t types[] = {TypeAt(from_place), exchange ? TypeAt(to_place) : mode_t{0}};
  for (const mode_t type : types) {
    if (type == S_IFLNK) return EPERM;
    if (type == S_IFDIR && (GivesMeaning(from) || GivesMeaning(to))) return EROFS;
  }
  return 0;
}

int GitDirectories::LinkRefusal(std::string_view from, const Place& from_place,
                                std::string_view to) const {
  if (!Holds(from) && !Holds(to)) return 0;
  if (NameOf(from) != GitName::kData || NameOf(to) != GitName::kData) return EROFS;
  return TypeAt(from_place) == S_IFLNK ? EPERM : 0;
}

int GitDirectories::HandleRefusal(int fd) const {
  if (directories_.empty()) return 0;
  struct stat open;
  if (fstat(fd, &open) != 0) return errno;
  for (const Directory& directory : directories_) {
    for (const char* name : kReplacedByRename) {
      struct stat named;
      if (fstatat(directory.root.get(), name, &named, AT_SYMLINK_NOFOLLOW) != 0) continue;
      if (named.st_dev == open.st_dev && named.st_ino == open.st_ino) return EROFS;
    }
  }
  return 0;
}

bool GitDirectories::LeadsBack(std::string_view path) const {
  return NameOf(path) == GitName::kLeadsBack;
}

}  // namespace odyssey::cell_guard
