#include "supervisor/cell_init/endpoint_watch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
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
constexpr int kLookAgainMs = 2;
constexpr size_t kMaxUnbound = 64;

// Of a search for what the kernel had no room to tell: more entries than are told, which were made
// to hide one, are read in a tenth of a second.
constexpr size_t kManyEntries = 256 * 1024;
constexpr cell_guard::SearchBounds kSearchBounds = {
    .entries = kManyEntries, .entries_of_one = kManyEntries, .leaf_entries = kManyEntries};

constexpr size_t kEventBytes = 16 * 1024;

bool IsSocket(int fd) {
  struct stat info;
  return fstat(fd, &info) == 0 && S_ISSOCK(info.st_mode);
}

}  // namespace

bool EndpointWatch::AddTree(const std::string& target) {
  trees_.push_back(target);
  if (trees_.size() == 1) {
    // Any file answers whether the kernel tells whose a socket is.
    const auto top = OpenHostPath(target);
    if (top.ok() && IsBoundHere(top->get()).ok()) {
      inotify_ = UniqueFd(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
    }
  }
  return static_cast<bool>(inotify_);
}

bool EndpointWatch::AddDirectory(int directory, const std::string& path) {
  if (!inotify_ || directories_.size() == bounds_.directories) return false;
  const std::string link = "/proc/self/fd/" + std::to_string(directory);
  const int watch =
      inotify_add_watch(inotify_.get(), link.c_str(), IN_CREATE | IN_MOVED_TO | IN_ONLYDIR);
  if (watch < 0) return false;
  directories_.insert_or_assign(watch, path);
  return true;
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

int EndpointWatch::timeout() const { return unbound_.empty() ? -1 : kLookAgainMs; }

std::vector<std::string> EndpointWatch::Serve() {
  alignas(inotify_event) char bytes[kEventBytes];
  const ssize_t n = inotify_ ? read(inotify_.get(), bytes, sizeof(bytes)) : 0;
  for (ssize_t at = 0; at < n;) {
    const auto& event = *reinterpret_cast<const inotify_event*>(bytes + at);
    OnEvent(event);
    at += static_cast<ssize_t>(sizeof(event) + event.len);
  }
  const auto now = Clock::now();
  std::erase_if(unbound_, [&](const Unbound& each) {
    return Settle(each.socket.get(), each.path) || now > each.until;
  });
  return std::exchange(news_, {});
}

void EndpointWatch::OnEvent(const inotify_event& event) {
  if ((event.mask & IN_Q_OVERFLOW) != 0) {
    for (const std::string& tree : trees_) Search(tree);
    return;
  }
  if ((event.mask & IN_IGNORED) != 0) directories_.erase(event.wd);
  const auto found = directories_.find(event.wd);
  if (found == directories_.end() || event.len == 0) return;
  const std::string directory = found->second;
  const std::string path = Join(directory, event.name);
  if ((event.mask & IN_ISDIR) != 0) return Search(path);
  const auto opened = OpenHostPath(directory);
  if (opened.ok()) LookAt(opened->get(), event.name, path);
}

void EndpointWatch::Search(const std::string& path) {
  const auto top = OpenHostPath(path);
  if (!top.ok()) return;
  cell_guard::FindRepositories(top->get(), kSearchBounds, [&](const SeenEntry& entry) {
    const std::string directory = Join(path, entry.path);
    if (entry.name == ".") {
      AddDirectory(entry.directory, directory);
    } else if (entry.type == DT_SOCK || entry.type == DT_UNKNOWN) {
      const std::string name(entry.name);
      LookAt(entry.directory, name, Join(directory, name));
    }
    return true;
  });
}

void EndpointWatch::LookAt(int directory, const std::string& name, const std::string& path) {
  UniqueFd socket(openat(directory, name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  if (!socket || !IsSocket(socket.get()) || IsMountPoint(socket.get())) return;
  if (Settle(socket.get(), path)) return;
  if (unbound_.size() == kMaxUnbound) unbound_.erase(unbound_.begin());
  unbound_.push_back({std::move(socket), path, Clock::now() + kBinding});
}

bool EndpointWatch::Settle(int socket, const std::string& path) {
  if (HostEndpoint(socket) != Endpoint::kSocket) return false;
  const auto own = IsBoundHere(socket);
  if (!own.ok() || !*own) Put(socket, path);
  return true;
}

void EndpointWatch::Put(int socket, const std::string& path) {
  if (covered_.size() == bounds_.sockets && covered_.count(path) == 0) return;
  Cover cover;
  const Status status = cover.Put(socket, path);
  if (!status.ok()) dprintf(2, "cell-init: cover a socket: %s\n", status.message().c_str());
  covered_.insert(path);
  news_.push_back(path);
}

}  // namespace odyssey::cell_init
