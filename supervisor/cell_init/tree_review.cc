#include "supervisor/cell_init/tree_review.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include "common/os/unique_fd.h"
#include "supervisor/cell_guard/directory.h"
#include "supervisor/cell_guard/tree_walk.h"
#include "supervisor/cell_init/host_endpoints.h"

namespace odyssey::cell_init {
namespace {

using cell_guard::Directory;
using cell_guard::FoundRepository;
using cell_guard::Join;
using cell_guard::OpenBelow;
using cell_guard::RepositoryKind;
using cell_guard::SeenEntry;
using cell_guard::TakeFirst;
using Clock = std::chrono::steady_clock;

constexpr std::string_view kGit = ".git";
constexpr std::string_view kInGit = ".git/";

// Where git keeps what a rebase has still to do, in a git directory and in those in it: of linked
// working trees, and of submodules.
constexpr const char* kRebases[] = {"rebase-merge", "rebase-apply"};
constexpr const char* kGitDirectoriesInside[] = {"worktrees", "modules"};

// With a HEAD beside it, all that git needs of a repository besides is where this leads.
constexpr std::string_view kCommonDirectory = "commondir";

// A settings directory with more levels is known by those above.
constexpr int kLevelsInside = 4;

// Set back by less, the clock was only disciplined.
constexpr int64_t kClockStepNs = 1'000'000'000;

int64_t Nanoseconds(const timespec& time) { return time.tv_sec * 1'000'000'000LL + time.tv_nsec; }

int64_t ReadClock(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return Nanoseconds(now);
}

bool HasHead(int directory) {
  struct stat info;
  return fstatat(directory, "HEAD", &info, AT_SYMLINK_NOFOLLOW) == 0;
}

bool IsDots(std::string_view name) { return name == "." || name == ".."; }

// "x/.git", not "x.git".
bool HasWorkingTree(std::string_view git) {
  const size_t slash = git.rfind('/');
  return (slash == std::string_view::npos ? git : git.substr(slash + 1)) == kGit;
}

class TreeReview final {
 public:
  TreeReview(const TreesAtStart& start, const ReviewBounds& bounds)
      : start_(start),
        bounds_(bounds),
        changed_from_(start.time.FirstChange(StartTime::Now())),
        until_(Clock::now() + bounds.time),
        top_(open("/", O_PATH | O_DIRECTORY | O_CLOEXEC)) {
    for (const std::string& name : start.names) {
      // What is in a repository is judged as one.
      if (name.compare(0, kInGit.size(), kInGit) == 0) continue;
      names_.emplace(name.substr(0, name.find('/')), name);
    }
  }

  void LookThrough(const std::string& tree) {
    const UniqueFd root = OpenBelow(top_.get(), std::string_view(tree).substr(1));
    if (!root) return;
    Begin();
    const auto on_entry = [&](const SeenEntry& entry) { return OnEntry(tree, entry); };
    const auto result = cell_guard::FindRepositories(root.get(), bounds_.search, on_entry);
    for (const FoundRepository& repository : result.found) {
      LookAtRepository(root.get(), tree, repository);
    }
    if (!result.finished || !result.closed.empty()) whole_ = false;
    End(tree);
  }

  // Absolute, if it is there: made or changed since the start.
  void LookAt(const std::string& path) {
    Begin();
    LookBelow(top_.get(), std::string_view(path).substr(1), "", tool::kFoundName);
    End(path);
  }

  std::vector<tool::ListEntry> Take() { return std::move(found_); }

 private:
  void Begin() {
    whole_ = true;
    inside_ = 0;
  }
  void End(const std::string& path) {
    if (!whole_) Say(tool::kUnfinished, path);
  }

  bool OnEntry(const std::string& tree, const SeenEntry& entry) {
    if (Clock::now() > until_) return false;
    if (entry.name == kCommonDirectory && HasHead(entry.directory)) {
      LookBelow(entry.directory, kCommonDirectory, Join(tree, entry.path),
                tool::kFoundBareRepository);
    }
    LookAtEndpoint(tree, entry);
    if (entry.made_by_tools) return true;  // dependencies have settings, and nobody works in them
    const auto [first, last] = names_.equal_range(entry.name);
    for (auto name = first; name != last; ++name) {
      LookBelow(entry.directory, name->second, Join(tree, entry.path), tool::kFoundName);
    }
    return whole_;
  }

  void LookAtEndpoint(const std::string& tree, const SeenEntry& entry) {
    if (!MayBeEndpoint(entry.type)) return;
    const std::string name(entry.name);
    const UniqueFd place(openat(entry.directory, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!place || HostEndpoint(place.get()) == Endpoint::kNone) return;
    LookBelow(entry.directory, name, Join(tree, entry.path), tool::kFoundEndpoint);
  }

  void LookAtRepository(int root, const std::string& tree, const FoundRepository& repository) {
    const std::string path = Join(tree, repository.path);
    if (std::count(start_.repositories.begin(), start_.repositories.end(), path) == 0) {
      const bool bare =
          repository.kind == RepositoryKind::kDirectory && !HasWorkingTree(repository.path);
      Say(bare ? tool::kFoundBareRepository : tool::kFoundRepository, path);
    } else if (repository.kind == RepositoryKind::kDirectory) {
      LookForRebases(OpenBelow(root, repository.path).get(), path);
    }
  }

  void LookForRebases(int git, const std::string& path) {
    for (const char* name : kRebases) LookBelow(git, name, path, tool::kFoundRebase);
    for (const char* inside : kGitDirectoriesInside) {
      const std::unique_ptr<Directory> others(Directory::Open(git, inside));
      for (const dirent* entry; others && (entry = others->Next()) != nullptr && Spend();) {
        if (IsDots(entry->d_name)) continue;
        const std::string other = std::string(entry->d_name) + "/";
        for (const char* name : kRebases) {
          LookBelow(others->fd(), other + name, Join(path, inside), tool::kFoundRebase);
        }
      }
    }
  }

  // What is at `below`, or a link on the way there, which leads who comes that way elsewhere.
  void LookBelow(int directory, std::string_view below, std::string path, std::string_view type) {
    UniqueFd at(openat(directory, ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
    while (at && !below.empty()) {
      const std::string name = TakeFirst(&below);
      path += "/" + name;
      at = UniqueFd(openat(at.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
      struct stat info;
      if (!at || fstat(at.get(), &info) != 0) return;
      if (!below.empty() && !S_ISLNK(info.st_mode)) continue;
      if (MayBeChanged(at.get()) && IsChanged(at.get(), info, kLevelsInside)) Say(type, path);
      return;
    }
  }

  // What kept it from the cell keeps it from blame when the host changes it.
  static bool MayBeChanged(int fd) {
    struct statvfs info;
    return fstatvfs(fd, &info) != 0 || (info.f_flag & ST_RDONLY) == 0;
  }

  bool IsChanged(int fd, const struct stat& info, int levels) {
    if (Nanoseconds(info.st_ctim) >= changed_from_) return true;
    if (!S_ISDIR(info.st_mode) || levels == 0) return false;
    const std::unique_ptr<Directory> directory(Directory::Open(fd, "."));
    for (const dirent* entry; directory && (entry = directory->Next()) != nullptr && Spend();) {
      if (IsDots(entry->d_name)) continue;
      const UniqueFd inner(openat(directory->fd(), entry->d_name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
      struct stat about;
      if (!inner || fstat(inner.get(), &about) != 0) continue;
      if (IsChanged(inner.get(), about, levels - 1)) return true;
    }
    return false;
  }

  bool Spend() {
    if (++inside_ > bounds_.inside || Clock::now() > until_) whole_ = false;
    return whole_;
  }

  void Say(std::string_view type, const std::string& path) {
    const auto same = [&](const auto& said) { return said.type == type && said.path == path; };
    if (std::any_of(found_.begin(), found_.end(), same)) return;
    const bool counts = type != tool::kUnfinished;
    if (path.size() > tool::kMaxPath || (counts && findings_++ >= bounds_.findings)) {
      whole_ = false;
    } else {
      found_.push_back({.path = path, .type = std::string(type)});
    }
  }

  const TreesAtStart& start_;
  const ReviewBounds& bounds_;
  const int64_t changed_from_;
  const Clock::time_point until_;
  const UniqueFd top_;
  std::multimap<std::string, std::string, std::less<>> names_;  // first component → name
  std::vector<tool::ListEntry> found_;
  size_t findings_ = 0;
  size_t inside_ = 0;
  bool whole_ = true;  // no bound was reached here
};

}  // namespace

StartTime StartTime::Now() {
  return {.real_ns = ReadClock(CLOCK_REALTIME_COARSE), .boot_ns = ReadClock(CLOCK_BOOTTIME)};
}

int64_t StartTime::FirstChange(const StartTime& now) const {
  const int64_t as_it_is_now = now.real_ns - (now.boot_ns - boot_ns);
  return real_ns - as_it_is_now > kClockStepNs ? as_it_is_now : real_ns;
}

tool::Response ReviewTrees(const TreesAtStart& start, const std::vector<std::string>& places,
                           const ReviewBounds& bounds) {
  TreeReview review(start, bounds);
  for (const std::string& tree : start.trees) review.LookThrough(tree);
  for (const std::string& place : places) review.LookAt(place);
  tool::Response response;
  response.entries = review.Take();
  return response;
}

}  // namespace odyssey::cell_init
