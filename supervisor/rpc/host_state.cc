#include "supervisor/rpc/host_state.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include <algorithm>

namespace odyssey::supervisor {

MountTable::MountTable() : file_(open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC)) {}

// proc_pid_mounts(5): a change of the mount namespace is an exceptional condition of the open file,
// once.
uint64_t MountTable::Changes() {
  const std::lock_guard lock(mutex_);
  pollfd polled{file_.get(), POLLPRI, 0};
  if (poll(&polled, 1, 0) == 1 && (polled.revents & (POLLPRI | POLLERR)) != 0) ++changes_;
  return changes_;
}

// The mounts first: what is mounted in between is a change the next time.
HostState LookAtHost(const plan::Plan& plan, LinkedConfiguration* linked, MountTable* mounts) {
  HostState out{.mounts = mounts->Changes(), .linked = linked->Get()};
  const auto known = [&](const std::string& path) {
    const auto& entries = out.linked->entries;
    const auto at = std::lower_bound(
        entries.begin(), entries.end(), path,
        [](const compile::SystemEntry& entry, const std::string& p) { return entry.path < p; });
    return at != entries.end() && at->path == path;
  };
  for (const plan::Entry& entry : plan.entries) {
    const bool system =
        entry.kind == plan::EntryKind::kHostTree && entry.ownership == plan::Ownership::kUnmapped;
    if (!system || known(entry.source)) continue;
    struct stat info {};
    const bool found = stat(entry.source.c_str(), &info) == 0;
    out.system.push_back(found ? policy::FileIdentity{info.st_dev, info.st_ino}
                               : policy::FileIdentity{});
  }
  return out;
}

}  // namespace odyssey::supervisor
