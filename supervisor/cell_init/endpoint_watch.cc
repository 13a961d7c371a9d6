#include "supervisor/cell_init/endpoint_watch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "common/os/mount_calls.h"
#include "supervisor/cell_guard/repository_search.h"
#include "supervisor/cell_guard/tree_walk.h"
#include "supervisor/cell_init/host_endpoints.h"
#include "supervisor/cell_init/own_sockets.h"

namespace odyssey::cell_init {
namespace {

using cell_guard::Join;
using cell_guard::SeenEntry;

// bind(2) makes the name first and binds the socket after that, microseconds later if nothing keeps
// it from running. What nobody has bound by the end of this time nobody ever will.
constexpr std::chrono::milliseconds kBinding{500};
constexpr size_t kMaxUnbound = 64;

// Of a directory that is mounted at several places.
constexpr size_t kMaxPaths = 16;

// Of a search in what has appeared, or for what the kernel had no room to tell. Commands run by now
// and may have made much of it to hide one: this is read in a tenth of a second.
constexpr size_t kManyEntries = 256 * 1024;
constexpr cell_guard::SearchBounds kSearchBounds = {.directories = 16384,
                                                    .entries = kManyEntries,
                                                    .entries_of_one = kManyEntries,
                                                    .leaf_entries = kManyEntries,
                                                    .depth = 128,
                                                    .path_bytes = 4096,
                                                    .repositories = 4096};

// Some 120 events with short names, of which the kernel keeps 16,384 unless told otherwise.
constexpr size_t kEventBytes = 4096;
constexpr int kMostReads = 128;
constexpr int kPauseMs = 1;

// What was renamed leads there no more, also if another has its name.
bool Leads(const std::string& path, int directory) {
  const auto place = OpenHostPath(path);
  struct stat at, to;
  return place.ok() && fstat(place->get(), &at) == 0 && fstat(directory, &to) == 0 &&
         at.st_dev == to.st_dev && at.st_ino == to.st_ino;
}

}  // namespace

void EndpointWatch::AddTree(const std::string& target, bool own_network) {
  trees_.push_back(target);
  if (trees_.size() == 1 && own_network) {
    // Any file answers whether the kernel tells whose a socket is.
    const auto top = OpenHostPath(target);
    if (top.ok() && IsBoundHere(top->get()).ok()) {
      inotify_ = UniqueFd(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
    }
  }
  if (!inotify_) SayUnwatched(target);
}

void EndpointWatch::AddDirectory(int directory, const std::string& path) {
  if (!inotify_) return;
  const bool too_long = path.size() >= PATH_MAX;
  if (too_long || directories_.size() == bounds_.directories) return SayUnwatched(path);
  const std::string link = "/proc/self/fd/" + std::to_string(directory);
  const int watch =
      inotify_add_watch(inotify_.get(), link.c_str(), IN_CREATE | IN_MOVED_TO | IN_ONLYDIR);
  if (watch < 0) return SayUnwatched(path);
  auto& paths = directories_[watch];
  if (std::count(paths.begin(), paths.end(), path) != 0) return;
  std::erase_if(paths, [&](const std::string& was) { return !Leads(was, directory); });
  if (paths.size() == kMaxPaths) return SayUnwatched(path);
  paths.push_back(path);
}

Status EndpointWatch::ShareMounts() const {
  for (const std::string& tree : trees_) {
    if (!inotify_) break;
    if (mount(nullptr, tree.c_str(), nullptr, MS_SHARED | MS_REC, nullptr) != 0) {
      return ErrnoStatus(errno, "share the mounts of " + tree);
    }
  }
  return OkStatus();
}

int EndpointWatch::timeout() const { return pausing_ || !unbound_.empty() ? kPauseMs : -1; }

std::vector<cell::Repository> EndpointWatch::Serve() {
  const auto now = Clock::now();
  if (pausing_ && now < due_) return {};
  if (inotify_) ReadEvents();
  std::erase_if(unbound_, [&](const Unbound& each) {
    return Settle(each.socket.get(), each.path) || now > each.until;
  });
  due_ = now + std::chrono::milliseconds(kPauseMs);
  return std::exchange(news_, {});
}

void EndpointWatch::ReadEvents() {
  alignas(inotify_event) char bytes[kEventBytes];
  pausing_ = false;
  for (int i = 0; i < kMostReads; ++i) {
    const ssize_t n = read(inotify_.get(), bytes, sizeof(bytes));
    if (n <= 0) break;
    pausing_ = true;
    for (ssize_t at = 0; at < n;) {
      const auto& event = *reinterpret_cast<const inotify_event*>(bytes + at);
      OnEvent(event);
      at += static_cast<ssize_t>(sizeof(event) + event.len);
    }
  }
  opened_path_.clear();
  opened_.reset();
  SearchWhatAppeared();
}

// The last name first: one that is renamed all the time is there by that, if by any. Each once, and
// not what lies in another.
void EndpointWatch::SearchWhatAppeared() {
  std::set<std::string> done;
  const auto is_done = [&done](std::string path) {
    for (; !path.empty(); path.resize(path.rfind('/'))) {
      if (done.count(path) != 0) return true;
    }
    return false;
  };
  for (auto path = searches_.rbegin(); path != searches_.rend(); ++path) {
    if (!is_done(*path) && Search(*path)) done.insert(*path);
  }
  searches_.clear();
}

void EndpointWatch::OnEvent(const inotify_event& event) {
  if ((event.mask & IN_Q_OVERFLOW) != 0) searches_ = trees_;
  if ((event.mask & IN_IGNORED) != 0) directories_.erase(event.wd);
  const auto found = directories_.find(event.wd);
  if (found == directories_.end() || event.len == 0) return;
  for (const std::string& directory : found->second) {
    if ((event.mask & IN_ISDIR) != 0) {
      searches_.push_back(Join(directory, event.name));
    } else {
      OnName(directory, event.name);
    }
  }
}

void EndpointWatch::OnName(const std::string& directory, const char* name) {
  if (opened_path_ != directory) {
    auto opened = OpenHostPath(directory);
    if (!opened.ok()) return;
    opened_path_ = directory;
    opened_ = std::move(*opened);
  }
  LookAt(opened_.get(), name, Join(directory, name));
}

bool EndpointWatch::Search(const std::string& path) {
  if (path.size() >= PATH_MAX) SayUnwatched(path);
  const auto top = OpenHostPath(path);
  if (!top.ok()) return false;
  const auto on_entry = [&](const SeenEntry& entry) {
    const std::string directory = Join(path, entry.path);
    if (entry.name == ".") {
      AddDirectory(entry.directory, directory);
    } else if (MayBeEndpoint(entry.type)) {
      const std::string name(entry.name);
      LookAt(entry.directory, name.c_str(), Join(directory, name));
    }
    return true;
  };
  const auto result = cell_guard::FindRepositories(top->get(), kSearchBounds, on_entry);
  if (!result.finished || !result.closed.empty()) SayUnwatched(path);
  return true;
}

void EndpointWatch::LookAt(int directory, const char* name, const std::string& path) {
  struct stat info;
  const int found = fstatat(directory, name, &info, AT_SYMLINK_NOFOLLOW);
  if (found != 0 || !(S_ISSOCK(info.st_mode) || S_ISFIFO(info.st_mode))) return;
  UniqueFd place(openat(directory, name, O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!place || IsMountPoint(place.get()) || Settle(place.get(), path)) return;
  if (unbound_.size() == kMaxUnbound) unbound_.erase(unbound_.begin());
  unbound_.push_back({std::move(place), path, Clock::now() + kBinding});
}

bool EndpointWatch::Settle(int place, const std::string& path) {
  switch (HostEndpoint(place)) {
    case Endpoint::kNone:
      return false;
    case Endpoint::kPipe:
      if (!own_pipes_->Has(place)) Put(place, path);
      return true;
    case Endpoint::kSocket:
      return SettleSocket(place, path);
  }
  return false;
}

bool EndpointWatch::SettleSocket(int socket, const std::string& path) {
  const auto own = IsBoundHere(socket);
  if (own.ok() && *own) return true;
  // One of the cell's own that was closed meanwhile is not among those of its network any more. Who
  // is bound still was so all the time: nobody can be bound to this file again.
  if (HostEndpoint(socket) != Endpoint::kSocket) return false;
  Put(socket, path);
  return true;
}

void EndpointWatch::Put(int place, const std::string& path) {
  if (covered_.size() == bounds_.covers && covered_.count(path) == 0) ForgetTheGone();
  if (covered_.size() == bounds_.covers && covered_.count(path) == 0) return SayUnwatched(path);
  Cover cover;
  const Status status = cover.Put(place, path);
  if (!status.ok()) dprintf(2, "cell-init: cover an endpoint: %s\n", status.message().c_str());
  covered_.insert(path);
  news_.push_back({path, cell::RepositoryState::kCovered});
}

// The cover goes with the name.
void EndpointWatch::ForgetTheGone() {
  std::erase_if(covered_, [](const std::string& path) {
    const auto place = OpenHostPath(path);
    return !place.ok() || !IsMountPoint(place->get());
  });
}

void EndpointWatch::SayUnwatched(const std::string& path) {
  for (const std::string& tree : trees_) {
    if (path != tree && !cell_guard::Below(path, tree)) continue;
    if (unwatched_.insert(tree).second) news_.push_back({tree, cell::RepositoryState::kUnwatched});
  }
}

}  // namespace odyssey::cell_init
