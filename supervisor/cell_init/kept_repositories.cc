#include "supervisor/cell_init/kept_repositories.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "common/os/mount_calls.h"
#include "supervisor/cell_guard/git_directories.h"
#include "supervisor/cell_guard/repository_search.h"
#include "supervisor/cell_guard/tree_walk.h"
#include "supervisor/cell_init/host_endpoints.h"

namespace odyssey::cell_init {
namespace {

using cell::Repository;
using cell::RepositoryState;
using cell_guard::Below;
using cell_guard::FoundRepository;
using cell_guard::Join;
using cell_guard::RepositoryKind;
using cell_guard::SeenEntry;
using cell_guard::TakeFirst;

constexpr std::string_view kGit = ".git";
constexpr std::string_view kInGit = ".git/";

// Of a cell: directories with protected names in them, beside the tops of trees and repositories.
// Each is a mount for every directory on the way, and one for the name.
constexpr size_t kMaxDirectories = 64;

// Of a cell, each a mount: sockets of the host, pipes, which a cell can leave as many of as it
// likes, and directories that are closed to the search.
constexpr size_t kMaxCovers = 256;

enum class Access { kUnchanged, kReadOnly };

// What `place` is as a mount on top of itself, unless it is one: it cannot be renamed or removed.
Result<UniqueFd> Mount(UniqueFd place, Access access, const std::string& path) {
  const MountAttributes attributes = {.read_only = access == Access::kReadOnly};
  if (IsMountPoint(place.get())) {
    ODY_RETURN_IF_ERROR(SetAttributes(place.get(), attributes, path));
    return place;
  }
  ODY_ASSIGN_OR_RETURN(UniqueFd tree, CloneTree(place.get(), path));
  ODY_RETURN_IF_ERROR(SetAttributes(tree.get(), attributes, path));
  ODY_RETURN_IF_ERROR(AttachTree(tree.get(), place.get(), path));
  return tree;
}

// nullopt: nothing is there, or a file.
Result<std::optional<UniqueFd>> OpenDirectory(const std::string& path) {
  auto opened = OpenHostPath(path);
  const Code code = opened.status().code();
  if (code == Code::kNotFound || code == Code::kInvalidArgument) return std::optional<UniqueFd>();
  ODY_RETURN_IF_ERROR(opened.status());
  struct stat info;
  if (fstat(opened->get(), &info) != 0) return ErrnoStatus(errno, "look at " + path);
  if (!S_ISDIR(info.st_mode)) return std::optional<UniqueFd>();
  return std::optional<UniqueFd>(std::move(*opened));
}

// Puts read-only names and pinned directories into one tree. Each lookup is from the mount around
// it, which stays what it is whatever the host renames meanwhile.
class Keeper final {
 public:
  Keeper(const cell::Configure& configure, EndpointWatch* watch, KeptRepositories* out)
      : names_(configure.project_names),
        own_network_(configure.own_network),
        watch_(watch),
        out_(out) {
    for (const std::string& name : names_) {
      const std::string first = name.substr(0, name.find('/'));
      if (first != kGit) by_first_.emplace(first, name);
    }
  }

  Status SearchTree(const std::string& target) {
    ODY_ASSIGN_OR_RETURN(const auto tree, OpenDirectory(target));
    if (!tree) return OkStatus();
    directories_.clear();
    covered_.clear();
    left_out_ = false;
    watches_ = !IsGuarded(target);
    if (watches_) watch_->AddTree(target, own_network_);
    const cell_guard::SearchResult result = cell_guard::FindRepositories(
        tree->get(), bounds_, [&](const SeenEntry& entry) { return OnEntry(target, entry); });
    for (const FoundRepository& repository : result.found) {
      out_->found.push_back(Join(target, repository.path));
      // The plan has seen to the project of the tree itself.
      if (repository.path != kGit) ODY_RETURN_IF_ERROR(Keep(tree->get(), target, repository));
    }
    bounds_.repositories -= result.found.size();
    for (const std::string& directory : directories_) {
      ODY_RETURN_IF_ERROR(KeepDirectory(tree->get(), target, directory));
    }
    for (const std::string& directory : result.closed) {
      left_out_ = left_out_ || directory.empty();
      if (!directory.empty()) Note(directory, &closed_left_, &covered_);
    }
    // Last: a directory that is pinned on top of itself hides what lies on its entries.
    for (const std::string& path : covered_) {
      ODY_RETURN_IF_ERROR(CoverAt(tree->get(), target, path));
    }
    if (!result.finished || left_out_) Say(target, RepositoryState::kUnfinished);
    return OkStatus();
  }

 private:
  // As a whole: what the host binds there is not what a command sees.
  bool IsGuarded(const std::string& target) const {
    const auto& guards = out_->guards;
    return std::any_of(guards.begin(), guards.end(), [&](const GuardPlace& place) {
      return place.guard.path == target || Below(target, place.guard.path);
    });
  }

  bool OnEntry(const std::string& target, const SeenEntry& entry) {
    if (entry.name == ".") {
      if (watches_) watch_->AddDirectory(entry.directory, Join(target, entry.path));
      return true;
    }
    if (MayBeEndpoint(entry.type)) NoteEndpoint(entry);
    // The plan has seen to the tree's own top; what lies in what tools fill is nobody's project.
    if (!entry.path.empty() && !entry.made_by_tools) NoteDirectory(entry);
    return true;
  }

  // Covered at once: by the time that the search ends another cell may have moved it.
  void NoteEndpoint(const SeenEntry& entry) {
    const std::string name(entry.name);
    const UniqueFd place(openat(entry.directory, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!place || IsMountPoint(place.get())) return;
    const Endpoint endpoint = HostEndpoint(place.get());
    if (endpoint == Endpoint::kNone) return;
    const std::string path = Join(entry.path, name);
    size_t* const left = endpoint == Endpoint::kPipe ? &pipes_left_ : &sockets_left_;
    if (!Note(path, left, &covered_)) return;
    if (!cover_.Put(place.get(), path).ok()) left_out_ = true;
  }

  // If the host's programs obey something in it.
  void NoteDirectory(const SeenEntry& entry) {
    const auto [first, last] = by_first_.equal_range(entry.name);
    const auto is_there = [&](const auto& name) {
      struct stat info;
      return fstatat(entry.directory, name.second.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0;
    };
    if (std::any_of(first, last, is_there)) Note(entry.path, &directories_left_, &directories_);
  }

  // Within what a cell may have of them.
  bool Note(const std::string& path, size_t* left, std::set<std::string>* noted) {
    if (noted->count(path) != 0) return true;
    left_out_ = left_out_ || *left == 0;
    if (*left == 0) return false;
    --*left;
    return noted->insert(path).second;
  }

  Status CoverAt(int tree, const std::string& target, const std::string& path) {
    Say(Join(target, path), RepositoryState::kCovered);
    const auto place = OpenInRoot(tree, path);
    if (!place.ok()) {  // whoever works in the tree may have moved it, or closed what it lies in
      left_out_ = left_out_ || !IsGone(place.status());
      return OkStatus();
    }
    struct stat info;
    if (IsMountPoint(place->get()) || fstat(place->get(), &info) != 0) return OkStatus();
    const bool closed = S_ISDIR(info.st_mode);
    if (!closed && HostEndpoint(place->get()) == Endpoint::kNone) return OkStatus();
    const Status put = cover_.Put(place->get(), path);
    return IsGone(put) ? OkStatus() : put;
  }

  Status KeepDirectory(int tree, const std::string& target, const std::string& path) {
    std::string at = target;
    const auto pinned = Pin(tree, path, &at);
    if (IsGone(pinned.status())) return OkStatus();
    ODY_RETURN_IF_ERROR(pinned.status());
    for (const auto& [first, name] : by_first_) {
      ODY_ASSIGN_OR_RETURN(const std::string kept, KeepName(pinned->get(), at, name));
      if (!kept.empty()) Say(kept, RepositoryState::kReadOnly);
    }
    return OkStatus();
  }

  Status Keep(int tree, const std::string& target, const FoundRepository& repository) {
    std::string_view place = repository.path;
    const bool has_project =
        place.size() > kGit.size() && place.substr(place.size() - kGit.size() - 1) == "/.git";
    if (has_project) place.remove_suffix(kGit.size() + 1);
    std::string at = target;
    const auto pinned = Pin(tree, place, &at);
    if (IsGone(pinned.status())) return OkStatus();
    ODY_RETURN_IF_ERROR(pinned.status());
    for (const std::string& name : names_) {
      std::string_view kept = name;
      if (!has_project && kept.substr(0, kInGit.size()) != kInGit) continue;
      if (!has_project) kept.remove_prefix(kInGit.size());
      ODY_RETURN_IF_ERROR(KeepName(pinned->get(), at, kept).status());
    }
    auto git = OpenInRoot(pinned->get(), has_project ? ".git" : ".");
    if (IsGone(git.status())) return OkStatus();
    ODY_RETURN_IF_ERROR(git.status());
    Finish(Join(target, repository.path), repository.kind, std::move(*git));
    return OkStatus();
  }

  // Another thing is there by now than what was found.
  static bool IsGone(const Status& status) {
    return status.code() == Code::kNotFound || status.code() == Code::kInvalidArgument;
  }

  void Finish(const std::string& path, RepositoryKind kind, UniqueFd git) {
    if (kind == RepositoryKind::kFile) return Say(path, RepositoryState::kReadOnly);
    AddGuard(path, std::move(git), &out_->guards);
    Say(path, RepositoryState::kGuarded);
  }

  // Each directory on the way to `path`, and it.
  static Result<UniqueFd> Pin(int tree, std::string_view path, std::string* at) {
    ODY_ASSIGN_OR_RETURN(UniqueFd pinned, OpenInRoot(tree, "."));
    while (!path.empty()) {
      const std::string name = TakeFirst(&path);
      *at = Join(*at, name);
      ODY_ASSIGN_OR_RETURN(UniqueFd place, OpenInRoot(pinned.get(), name));
      ODY_ASSIGN_OR_RETURN(pinned, Mount(std::move(place), Access::kUnchanged, *at));
    }
    return pinned;
  }

  // Where it exists. What is no directory on the way to it is kept instead. What was, or "".
  Result<std::string> KeepName(int project, std::string at, std::string_view name) {
    ODY_ASSIGN_OR_RETURN(UniqueFd around, OpenInRoot(project, "."));
    while (!name.empty()) {
      const std::string part = TakeFirst(&name);
      at = Join(at, part);
      auto place = OpenInRoot(around.get(), part);
      if (place.status().code() == Code::kNotFound) return std::string();
      struct stat info;
      const bool opened = place.ok() && fstat(place->get(), &info) == 0;
      if (!opened || (S_ISREG(info.st_mode) && info.st_nlink > 1)) Say(at, RepositoryState::kOpen);
      if (!opened) return std::string();
      const bool pin = !name.empty() && S_ISDIR(info.st_mode);
      ODY_ASSIGN_OR_RETURN(
          around, Mount(std::move(*place), pin ? Access::kUnchanged : Access::kReadOnly, at));
      if (!pin) return at;
    }
    return std::string();
  }

  void Say(const std::string& path, RepositoryState state) {
    const Repository said = {path, state};
    auto& all = out_->said;
    if (std::find(all.begin(), all.end(), said) == all.end()) all.push_back(said);
  }

  const std::vector<std::string>& names_;
  const bool own_network_;
  EndpointWatch* const watch_;
  KeptRepositories* const out_;
  cell_guard::SearchBounds bounds_;
  // Names that lie in no git directory, by their first component.
  std::multimap<std::string, std::string, std::less<>> by_first_;
  // Of the tree that is searched, relative to it.
  std::set<std::string> directories_;
  std::set<std::string> covered_;
  size_t directories_left_ = kMaxDirectories;
  size_t sockets_left_ = kMaxCovers;
  size_t pipes_left_ = kMaxCovers;
  size_t closed_left_ = kMaxCovers;
  Cover cover_;
  bool left_out_ = false;
  bool watches_ = false;
};

}  // namespace

void AddGuard(const std::string& path, UniqueFd directory, std::vector<GuardPlace>* guards) {
  for (auto& [around, tree] : *guards) {
    const auto below = Below(path, around.path);
    if (!below) continue;
    if (std::count(around.git.begin(), around.git.end(), *below) == 0) {
      around.git.emplace_back(*below);
    }
    return;
  }
  GuardPlace added = {{.path = path, .git = {""}}, std::move(directory)};
  std::erase_if(*guards, [&](const GuardPlace& inner) {
    if (!Below(inner.guard.path, path)) return false;
    for (const std::string& git : inner.guard.git) {
      added.guard.git.emplace_back(*Below(Join(inner.guard.path, git), path));
    }
    return true;
  });
  guards->push_back(std::move(added));
}

Result<KeptRepositories> KeepRepositories(const cell::Configure& configure, EndpointWatch* watch) {
  KeptRepositories out;
  for (const cell::Guard& guard : configure.guards) {
    ODY_ASSIGN_OR_RETURN(auto tree, OpenDirectory(guard.path));
    if (!tree) continue;
    if (!guard.deny.empty()) {
      out.guards.push_back({guard, std::move(*tree)});
    } else if (!cell_guard::GitDirectories(tree->get(), guard.git).empty()) {
      AddGuard(guard.path, std::move(*tree), &out.guards);
    }
  }
  Keeper keeper(configure, watch, &out);
  for (const std::string& tree : configure.searched) ODY_RETURN_IF_ERROR(keeper.SearchTree(tree));
  return out;
}

}  // namespace odyssey::cell_init
