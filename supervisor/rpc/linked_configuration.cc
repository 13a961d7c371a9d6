#include "supervisor/rpc/linked_configuration.h"

#include <sys/stat.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "policy/executables/configuration.h"

namespace odyssey::supervisor {
namespace {

constexpr char kEtc[] = "/etc";
// A directory that has changed may change again without another time: the clock of file systems
// ticks up to every 10 ms (CONFIG_HZ=100). Seconds, as some file systems keep no more.
constexpr time_t kSettledAfter = 2;

timespec ChangedAt(const std::string& path) {
  struct stat info {};
  return stat(path.c_str(), &info) == 0 ? info.st_mtim : timespec{};
}

bool IsSame(const timespec& a, const timespec& b) {
  return std::tie(a.tv_sec, a.tv_nsec) == std::tie(b.tv_sec, b.tv_nsec);
}

}  // namespace

LinkedConfiguration::LinkedConfiguration(std::string root)
    : root_(std::move(root)),
      first_(std::async(std::launch::async, [this] { return Look(root_); })) {}

LinkedConfiguration::Found LinkedConfiguration::Look(const std::string& root) {
  Found out{.etc_changed = ChangedAt(root + kEtc)};
  out.entries = executables::FindConfiguration(root);
  std::set<std::string> directories = {kEtc};
  for (const compile::SystemEntry& entry : out.entries) {
    for (size_t end = entry.path.rfind('/'); end > sizeof(kEtc) - 1;
         end = entry.path.rfind('/', end - 1)) {
      directories.insert(entry.path.substr(0, end));
    }
  }
  out.directories.assign(directories.begin(), directories.end());
  return out;
}

std::vector<LinkedConfiguration::Directory> LinkedConfiguration::LookAtDirectories() const {
  std::vector<Directory> out;
  for (const std::string& path : found_.directories) {
    struct stat info {};
    const bool there = stat((root_ + path).c_str(), &info) == 0;
    out.push_back(there ? Directory{{info.st_dev, info.st_ino}, info.st_mtim} : Directory{});
  }
  return out;
}

LinkedConfiguration::Shown LinkedConfiguration::LookAtEntries() const {
  Shown out;
  for (const compile::SystemEntry& entry : found_.entries) {
    struct stat info {};
    if (lstat((root_ + entry.path).c_str(), &info) != 0) continue;
    if (S_ISLNK(info.st_mode) == entry.link_target.empty()) continue;
    out.entries.push_back(entry);
    out.files.push_back({info.st_dev, info.st_ino});
  }
  return out;
}

// The directories first: what changes in between is a change the next time.
std::shared_ptr<const LinkedConfiguration::Shown> LinkedConfiguration::Get() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (first_.valid()) found_ = first_.get();
  std::vector<Directory> now = LookAtDirectories();
  const auto same = [](const Directory& a, const Directory& b) {
    return a.file == b.file && IsSame(a.changed, b.changed);
  };
  if (std::equal(now.begin(), now.end(), directories_.begin(), directories_.end(), same)) {
    return shown_;
  }
  if (!IsSame(now.front().changed, found_.etc_changed)) {
    found_ = Look(root_);
    now = LookAtDirectories();
  }
  Shown shown = LookAtEntries();
  if (shown_ == nullptr || *shown_ != shown) {
    shown_ = std::make_shared<const Shown>(std::move(shown));
  }
  timespec clock{};
  clock_gettime(CLOCK_REALTIME, &clock);
  const bool settled = IsSame(now.front().changed, found_.etc_changed) &&
                       std::all_of(now.begin(), now.end(), [&](const Directory& each) {
                         return each.changed.tv_sec + kSettledAfter < clock.tv_sec;
                       });
  directories_ = settled ? std::move(now) : std::vector<Directory>();
  return shown_;
}

}  // namespace odyssey::supervisor
