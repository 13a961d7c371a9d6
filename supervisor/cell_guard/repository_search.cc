#include "supervisor/cell_guard/repository_search.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "common/os/mount_calls.h"
#include "policy/pattern/git_directory.h"
#include "supervisor/cell_guard/directory.h"
#include "supervisor/cell_guard/tree_walk.h"

namespace odyssey::cell_guard {
namespace {

// Full of directories that tools made, seldom of repositories: looked into last.
constexpr std::string_view kMadeByTools[] = {"node_modules", "site-packages", "target", ".cache",
                                             "__pycache__"};
// The same in a git directory.
constexpr std::string_view kMadeByGit[] = {"objects", "refs", "logs"};

// With more directories in it one is looked into after those with fewer.
constexpr size_t kWide = 128;

// Of a directory without directories in it, on file systems that count them; others say 1. Without
// a HEAD it can hold nothing of a repository but a ".git" that is a file.
constexpr nlink_t kLinksOfALeaf = 2;

// What opening a leaf counts for beside its entries.
constexpr size_t kEntriesOfOpening = 16;

template <size_t n>
bool Contains(const std::string_view (&names)[n], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

// As git judges it; true if that cannot be told now. A link is one of an old kind, which git takes
// too.
bool HasValidHead(int directory) {
  const UniqueFd fd(openat(directory, "HEAD", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!fd) return errno != ENOENT && errno != ENXIO;  // ENXIO: a socket
  char text[pattern::kMaxHeadBytes + 1];
  const ssize_t n = read(fd.get(), text, sizeof(text));
  if (n < 0) return errno != EISDIR;
  return pattern::IsValidHead(std::string_view(text, static_cast<size_t>(n)));
}

bool Exists(int directory, const std::string& name) {
  struct stat info;
  return fstatat(directory, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
}

// What a directory shows by its entries.
struct Listing {
  bool whole = true;
  bool git = false;
  bool head = false;
  bool objects = false;
  bool refs = false;
  std::vector<std::string> directories;
};

class Search final {
 public:
  Search(int tree, const SearchBounds& bounds, const OnEntry& on_entry)
      : tree_(tree), bounds_(bounds), on_entry_(on_entry) {}

  SearchResult Run() {
    next_.push_back({});
    while (!next_.empty() || !last_.empty()) {
      auto& from = next_.empty() ? last_ : next_;
      Place place = std::move(from.front());
      from.pop_front();
      if (!LookInto(std::move(place))) break;
    }
    return std::move(result_);
  }

 private:
  struct Place {
    std::string path;
    size_t depth = 0;
    // Of what lies in the "modules" of a repository: where the working tree of that is, and the
    // length of the path of "modules". Git directories of submodules lie there, under names that
    // are their paths unless somebody chose others.
    std::optional<std::string> project;
    size_t modules = 0;
    bool waited = false;         // it is wide, and was put off
    bool made_by_tools = false;  // it, or what it lies in
    bool leaf = false;           // read to tell its entries only
  };

  // False when the search has reached a bound.
  bool LookInto(Place place) {
    if (place.leaf && IsSpent()) return true;
    if (read_ >= bounds_.entries) return Stop();
    const auto directory = Open(place.path);
    if (!directory) return true;
    const Listing listing = Read(directory.get(), place);
    if (stopped_) return Stop();
    const bool repository =
        listing.head && listing.objects && listing.refs && HasValidHead(directory->fd());
    if (repository && place.project) return AddSubmodule(place);
    if (repository && !Add({place.path, RepositoryKind::kDirectory})) return false;
    const bool maybe_git = (listing.git || !listing.whole) && !place.waited;
    if (maybe_git && !AddGit(directory->fd(), "", place.path, place.depth)) return false;
    if (listing.directories.size() > kWide && !place.waited) {
      place.waited = true;
      last_.push_back(std::move(place));
      return true;
    }
    for (const std::string& name : listing.directories) {
      if (++looked_at_ > bounds_.directories) return Stop();
      const bool by_tools = Contains(kMadeByTools, name);
      const bool late = by_tools || (repository && Contains(kMadeByGit, name));
      Place inner = {.path = Join(place.path, name),
                     .depth = place.depth + 1,
                     .made_by_tools = place.made_by_tools || by_tools};
      if (!Consider(directory->fd(), name, place, std::move(inner), late)) return false;
    }
    return true;
  }

  // By who knows a name in it, or after a change of its mode.
  static bool IsReachable(int directory) {
    struct stat info;
    return fstat(directory, &info) == 0 && S_ISDIR(info.st_mode) &&
           (info.st_uid == geteuid() || faccessat(directory, ".", X_OK, AT_EACCESS) == 0);
  }

  std::unique_ptr<Directory> Open(const std::string& path) {
    const UniqueFd fd = Reach(path);
    std::unique_ptr<Directory> directory(fd ? Directory::Open(fd.get(), ".") : nullptr);
    if (!directory && fd && IsReachable(fd.get())) result_.closed.push_back(path);
    return directory;
  }

  // O_PATH. The commands' filter has no openat2, under which a worker searches.
  UniqueFd Reach(const std::string& path) {
    if (by_component_) return OpenBelow(tree_, path);
    auto opened = OpenInRoot(tree_, path.empty() ? "." : path);
    if (opened.ok()) return std::move(*opened);
    by_component_ = opened.status().code() == Code::kUnimplemented;
    return by_component_ ? OpenBelow(tree_, path) : UniqueFd();
  }

  Listing Read(Directory* directory, const Place& place) {
    Listing listing;
    size_t& read = place.leaf ? read_in_leaves_ : read_;
    const size_t bound = place.leaf ? bounds_.leaf_entries : bounds_.entries;
    const size_t most = std::min(bound, read + bounds_.entries_of_one);
    const SeenEntry itself = {directory->fd(), place.path, ".", DT_DIR, place.made_by_tools};
    if (on_entry_ && !on_entry_(itself)) {
      stopped_ = true;
      return listing;
    }
    while (const dirent* entry = directory->Next()) {
      if (++read > most) {
        listing.whole = result_.finished = false;
        break;
      }
      const std::string_view name = entry->d_name;
      if (name == "." || name == "..") continue;
      const SeenEntry seen = {directory->fd(), place.path, name, entry->d_type,
                              place.made_by_tools};
      if (on_entry_ && !on_entry_(seen)) {
        stopped_ = true;
        break;
      }
      listing.head = listing.head || name == "HEAD";
      listing.objects = listing.objects || name == "objects";  // to git it may be a link
      listing.refs = listing.refs || name == "refs";
      if (name == ".git") {
        listing.git = true;
      } else if (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN) {
        listing.directories.emplace_back(name);
      }
    }
    return listing;
  }

  // The directory `name` in `place`, which is open as `at`.
  bool Consider(int at, const std::string& name, const Place& place, Place inner, bool late) {
    struct stat info;
    if (fstatat(at, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISDIR(info.st_mode)) {
      return true;
    }
    if (info.st_nlink == kLinksOfALeaf && !Exists(at, name + "/HEAD")) {
      if (!AddGit(at, name + "/", inner.path, inner.depth)) return false;
      if (!on_entry_ || IsSpent()) return true;
      read_in_leaves_ += kEntriesOfOpening;
      inner.leaf = true;
    }
    if (place.depth == bounds_.depth || inner.path.size() > bounds_.path_bytes) {
      result_.finished = false;
    } else if (place.project) {
      inner.project = place.project;
      inner.modules = place.modules;
      next_.push_front(std::move(inner));
    } else {
      (late ? last_ : next_).push_back(std::move(inner));
    }
    return true;
  }

  // The ".git" of `directory`, if it has one: it is `prefix` below `at`.
  bool AddGit(int at, const std::string& prefix, const std::string& directory, size_t depth) {
    const std::string path = Join(directory, ".git");
    struct stat info;
    if (fstatat(at, (prefix + ".git").c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0) return true;
    if (S_ISLNK(info.st_mode)) return Add({path, RepositoryKind::kLink});
    if (S_ISREG(info.st_mode)) return Add({path, RepositoryKind::kFile});
    if (!Exists(at, prefix + ".git/HEAD")) {
      // None, and so nobody guards it.
      if (++looked_at_ > bounds_.directories) return Stop();
      next_.push_back({.path = path, .depth = depth + 1});
      return true;
    }
    const std::string modules = path + "/modules";
    next_.push_front(
        {.path = modules, .depth = depth, .project = directory, .modules = modules.size()});
    return Add({path, RepositoryKind::kDirectory});
  }

  // What it has in `modules` is guarded with the repository around it; its working tree is not.
  bool AddSubmodule(const Place& place) {
    const std::string path = Join(*place.project, place.path.substr(place.modules + 1));
    const UniqueFd directory = Reach(path);
    return !directory || AddGit(directory.get(), "", path, place.depth);
  }

  bool Add(FoundRepository repository) {
    auto& found = result_.found;
    if (std::find(found.begin(), found.end(), repository) != found.end()) return true;
    if (found.size() == bounds_.repositories) return Stop();
    found.push_back(std::move(repository));
    return true;
  }

  // Whether what may be read in leaves has been.
  bool IsSpent() {
    if (read_in_leaves_ < bounds_.leaf_entries) return false;
    result_.finished = false;
    return true;
  }

  bool Stop() {
    result_.finished = false;
    return false;
  }

  const int tree_;
  const SearchBounds& bounds_;
  const OnEntry& on_entry_;
  bool by_component_ = false;
  bool stopped_ = false;  // by who is told
  SearchResult result_;
  std::deque<Place> next_;
  std::deque<Place> last_;
  size_t looked_at_ = 0;
  size_t read_ = 0;
  size_t read_in_leaves_ = 0;
};

}  // namespace

SearchResult FindRepositories(int tree, const SearchBounds& bounds, const OnEntry& on_entry) {
  return Search(tree, bounds, on_entry).Run();
}

}  // namespace odyssey::cell_guard
