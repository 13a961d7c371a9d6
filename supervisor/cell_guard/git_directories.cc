#include "supervisor/cell_guard/git_directories.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <optional>

#include "policy/pattern/git_index.h"

namespace odyssey::cell_guard {
namespace {

using pattern::GitName;

constexpr size_t kMostLocks = 32;  // held at once; git holds two in each repository
constexpr size_t kMaxIndexBytes = 256 * 1024 * 1024;  // of some two million files
constexpr size_t kMaxConfigBytes = 1024 * 1024;

// git follows links where it writes messages and logs, and waits for whoever is at the other end of
// a pipe; it makes neither.
bool LeadsElsewhere(mode_t type) { return type == S_IFLNK || type == S_IFIFO || type == S_IFSOCK; }

// nullopt if it is longer, or cannot be read at a place, as only a regular file can.
std::optional<std::string> ReadAll(int fd, size_t most) {
  std::string text;
  char part[4096];
  for (ssize_t n; (n = pread(fd, part, sizeof(part), static_cast<off_t>(text.size()))) != 0;) {
    if (n < 0 || text.size() + static_cast<size_t>(n) > most) return std::nullopt;
    text.append(part, static_cast<size_t>(n));
  }
  return text;
}

size_t MostBytes(GitName name) {
  if (name == GitName::kHead) return pattern::kMaxHeadBytes;
  return name == GitName::kIndex ? kMaxIndexBytes : pattern::kMaxStateBytes;
}

// Whether the file has this name, in so far as that can be known: if not, it may.
bool MayBe(int tree, const std::string& path, const struct stat& file) {
  struct stat named;
  const int error = StatBelow(tree, path, &named);
  return error == 0 ? IsSameFile(named, file) : !IsAbsent(error);
}

std::string_view ParentOf(std::string_view path) {
  const size_t slash = path.rfind('/');
  return path.substr(0, slash == path.npos ? 0 : slash);
}

}  // namespace

GitDirectories::GitDirectories(int tree, const std::vector<std::string>& paths) : tree_(tree) {
  for (const std::string& path : paths) {
    Place head;
    struct stat info;
    if (FindPlace(tree, path + "/HEAD", &head) != 0) continue;
    if (fstatat(head.directory.get(), "HEAD", &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    directories_.push_back(path);
    opened_.emplace_back(openat(head.directory.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
}

bool GitDirectories::LocksTree() const {
  return std::find(directories_.begin(), directories_.end(), "") != directories_.end();
}

GitName GitDirectories::NameOf(std::string_view path) const {
  for (const std::string& directory : directories_) {
    const auto below = Below(path, directory);
    if (!below) continue;
    const GitName name = pattern::NameInGitDirectory(*below);
    if (name != GitName::kData) return name;
  }
  return GitName::kData;
}

bool GitDirectories::GivesMeaning(std::string_view path) const {
  return std::any_of(directories_.begin(), directories_.end(),
                     [path](const std::string& directory) {
                       const auto below = Below(path, directory);
                       return below && pattern::GivesNamesTheirMeaning(*below);
                     });
}

bool GitDirectories::Holds(std::string_view path) const {
  return std::any_of(
      directories_.begin(), directories_.end(),
      [path](const std::string& directory) { return Below(path, directory).has_value(); });
}

bool GitDirectories::WouldBeFoundInstead(std::string_view path) const {
  const size_t slash = path.rfind('/');
  const std::string_view name = path.substr(slash + 1);  // npos + 1 is 0
  if ((name != "HEAD" && name != ".git") || Holds(path)) return false;
  const std::string_view above = path.substr(0, slash == path.npos ? 0 : slash);
  return std::any_of(directories_.begin(), directories_.end(),
                     [above](const std::string& directory) {
                       return directory != above && Below(directory, above).has_value();
                     });
}

bool GitDirectories::ChangesUnderneath(std::string_view path) const {
  return std::any_of(directories_.begin(), directories_.end(),
                     [path](const std::string& directory) {
                       const auto below = Below(path, directory);
                       return below && !Below(*below, "objects").has_value();
                     });
}

int GitDirectories::Refusal(std::string_view path, Change change) const {
  const bool makes = change == Change::kMake || change == Change::kMakeNode ||
                     change == Change::kMakeDirectory || change == Change::kMakeLink;
  if (makes && WouldBeFoundInstead(path)) return EROFS;
  switch (NameOf(path)) {
    case GitName::kObeyed:
    case GitName::kSettings:
      return EROFS;
    case GitName::kNeeded:
      return change == Change::kMakeDirectory || change == Change::kTimes ? 0 : EROFS;
    case GitName::kHead:
      return change == Change::kTimes ? 0 : EROFS;
    case GitName::kIndex:
      return change == Change::kTimes || change == Change::kRemove ? 0 : EROFS;
    case GitName::kLock:
      return change == Change::kMake || (!makes && IsOwnLock(path)) ? 0 : EROFS;
    case GitName::kHidden:
      return EACCES;
    case GitName::kLeadsBack:
      return change == Change::kMake || change == Change::kRemove ? 0 : EROFS;
    case GitName::kState:
      return change == Change::kMakeNode || change == Change::kMakeDirectory ||
                     change == Change::kMakeLink || change == Change::kLayout
                 ? EROFS
                 : 0;
    case GitName::kData:
      break;
  }
  const bool leads_elsewhere = change == Change::kMakeLink || change == Change::kMakeNode;
  return leads_elsewhere && Holds(path) ? EPERM : 0;
}

int GitDirectories::RenameRefusal(std::string_view from, const Place& from_place,
                                  std::string_view to, const Place& to_place,
                                  unsigned flags) const {
  const bool exchange = (flags & RENAME_EXCHANGE) != 0;
  if (WouldBeFoundInstead(to) || (exchange && WouldBeFoundInstead(from))) return EROFS;
  if (!Holds(from) && !Holds(to)) return 0;
  const GitName target = NameOf(to);
  const GitName source = NameOf(from);
  const bool locked = source == GitName::kLock && IsOwnLock(from);
  const bool judged = target == GitName::kHead || target == GitName::kIndex ||
                      target == GitName::kState || target == GitName::kSettings;
  // Each comes about by a lock, but for the state of an operation, which git also writes in place.
  const bool enters = judged && !exchange && (locked || target == GitName::kState);
  const bool leaves = !exchange && (source == GitName::kState || locked);
  if (source != GitName::kData && !leaves) return EROFS;
  if (target != GitName::kData && !enters) return EROFS;
  if (enters && !MayBecome(target, to, from_place)) return EROFS;
  const mode_t types[] = {TypeAt(from_place), exchange ? TypeAt(to_place) : mode_t{0}};
  for (const mode_t type : types) {
    if (LeadsElsewhere(type)) return EPERM;
    if (type == S_IFDIR && (GivesMeaning(from) || GivesMeaning(to))) return EROFS;
  }
  return 0;
}

int GitDirectories::LinkRefusal(std::string_view from, const Place& from_place,
                                std::string_view to) const {
  if (WouldBeFoundInstead(to)) return EROFS;
  if (!Holds(from) && !Holds(to)) return 0;
  if (NameOf(from) != GitName::kData || NameOf(to) != GitName::kData) return EROFS;
  return LeadsElsewhere(TypeAt(from_place)) ? EPERM : 0;
}

int GitDirectories::WriteRefusal(std::string_view path, int fd, std::string_view bytes,
                                 off_t offset) const {
  const GitName name = NameOf(path);
  if (name != GitName::kState) return Refusal(path, Change::kContent);
  const std::string link =
      "/proc/self/fd/" + std::to_string(fd);  // it may be open for writing only
  const UniqueFd readable(open(link.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  auto text = ReadAll(readable.get(), pattern::kMaxStateBytes);
  const auto at = static_cast<size_t>(offset);
  if (!text || at > pattern::kMaxStateBytes) return EROFS;
  text->resize(std::max(text->size(), at + bytes.size()));
  text->replace(at, bytes.size(), bytes);
  return MayHold(name, path, *text) ? 0 : EROFS;
}

bool GitDirectories::HasKeptName(const struct stat& file) const {
  std::vector<std::string_view> names = pattern::FilesKeptByContent();
  for (const pattern::ObeyedName& obeyed : pattern::ObeyedNames()) names.push_back(obeyed.name);
  for (const std::string& directory : directories_) {
    for (const std::string_view name : names) {
      if (MayBe(tree_, Join(directory, std::string(name)), file)) return true;
    }
  }
  return false;
}

bool GitDirectories::MayHold(GitName name, std::string_view path, std::string_view text) const {
  if (name == GitName::kHead) return pattern::IsValidHead(text);
  if (name == GitName::kSettings) return !text.empty() && text == ReadConfig(std::string(path));
  if (name == GitName::kIndex) {
    const auto object_name_bytes = ObjectNameBytes(path);
    return object_name_bytes && pattern::IndexStaysInTree(text, *object_name_bytes);
  }
  return pattern::IsHarmlessState(path, text);
}

// A file with such content, and no other name through which it could be changed afterwards. Who has
// it open is stopped when he writes.
bool GitDirectories::MayBecome(GitName name, std::string_view path, const Place& place) const {
  const UniqueFd fd(openat(place.directory.get(), place.name.c_str(),
                           O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat info;
  if (!fd || fstat(fd.get(), &info) != 0 || info.st_nlink != 1) return false;
  const auto text = ReadAll(fd.get(), MostBytes(name));
  return text && MayHold(name, path, *text);
}

std::optional<std::string> GitDirectories::ReadConfig(const std::string& path) const {
  Place place;
  if (FindPlace(tree_, path, &place) != 0) return std::nullopt;
  const UniqueFd fd(openat(place.directory.get(), place.name.c_str(),
                           O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  // A link is not followed: it could lead through the guard itself.
  if (!fd && (errno == ENOENT || errno == ELOOP)) return "";
  return ReadAll(fd.get(), kMaxConfigBytes);
}

// By what the repository's configuration says.
std::optional<size_t> GitDirectories::ObjectNameBytes(std::string_view path) const {
  std::string_view directory = ParentOf(path);
  const std::string_view above = ParentOf(directory);
  constexpr std::string_view kWorktrees = "worktrees";
  if (above.substr(above.rfind('/') + 1) == kWorktrees) directory = ParentOf(above);
  auto text = ReadConfig(Join(std::string(directory), "config"));
  if (!text) return std::nullopt;
  std::transform(text->begin(), text->end(), text->begin(), tolower);
  const bool named = text->find("objectformat") != text->npos;
  return named && text->find("sha256") != text->npos ? pattern::kSha256Bytes : pattern::kSha1Bytes;
}

bool GitDirectories::Hides(std::string_view path) const { return NameOf(path) == GitName::kHidden; }

bool GitDirectories::IsLock(std::string_view path) const { return NameOf(path) == GitName::kLock; }

void GitDirectories::HoldLock(int fd) {
  if (locks_.size() == kMostLocks) locks_.erase(locks_.begin());
  locks_.emplace_back(fcntl(fd, F_DUPFD_CLOEXEC, 0));
}

bool GitDirectories::IsOwnLock(std::string_view path) const {
  struct stat there;
  if (StatBelow(tree_, path, &there) != 0) return false;
  return std::any_of(locks_.begin(), locks_.end(), [&there](const UniqueFd& lock) {
    struct stat made;
    return fstat(lock.get(), &made) == 0 && IsSameFile(made, there);
  });
}

bool GitDirectories::IsSettings(std::string_view path) const {
  return NameOf(path) == GitName::kSettings;
}

bool GitDirectories::LeadsBack(std::string_view path) const {
  return NameOf(path) == GitName::kLeadsBack;
}

}  // namespace odyssey::cell_guard
