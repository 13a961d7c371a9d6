#include "ctl/state_layout.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <memory>
#include <vector>

#include "common/os/file.h"
#include "common/os/unique_fd.h"

namespace odyssey::ctl {
namespace {

Identity UserOr(const char* name, uint32_t fallback) {
  std::vector<char> buffer(16 * 1024);
  passwd entry{};
  passwd* found = nullptr;
  if (getpwnam_r(name, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) {
    return {fallback, fallback};
  }
  return {found->pw_uid, found->pw_gid};
}

std::string Octal(mode_t mode) {
  char buffer[8];
  snprintf(buffer, sizeof(buffer), "%04o", static_cast<unsigned>(mode & 07777));
  return buffer;
}

Status EnsureDirectory(const std::string& path, const Identity& owner, mode_t mode) {
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return ErrnoStatus(errno, "create directory " + path);
  }
  UniqueFd fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!fd) return ErrnoStatus(errno, "open directory " + path);
  if (fchown(fd.get(), owner.uid, owner.gid) != 0)
    return ErrnoStatus(errno, "change owner of " + path);
  if (fchmod(fd.get(), mode) != 0) return ErrnoStatus(errno, "change mode of " + path);
  return OkStatus();
}

// A directory that holds nothing, or that an earlier `up` made: its mode is ours to set.
bool IsOurs(const StateLayout& layout) {
  if (access(layout.lock_path.c_str(), F_OK) == 0) return true;
  std::unique_ptr<DIR, int (*)(DIR*)> dir(opendir(layout.state.c_str()), closedir);
  if (!dir) return false;
  // Only this thread reads this stream.
  while (const dirent* entry = readdir(dir.get())) {  // NOLINT(concurrency-mt-unsafe)
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) return false;
  }
  return true;
}

// Root acts on names in this directory, so nobody else may rename what is in it.
Status CheckState(const std::string& state) {
  struct stat info;
  if (lstat(state.c_str(), &info) != 0) return ErrnoStatus(errno, "stat " + state);
  if (!S_ISDIR(info.st_mode)) return InvalidArgument(state + " is not a directory");
  if (info.st_uid != 0 || (info.st_mode & 022) != 0) {
    return PermissionDenied(state + " belongs to uid " + std::to_string(info.st_uid) +
                            " with mode " + Octal(info.st_mode) +
                            ": a state directory must be root's and writable by root alone");
  }
  return OkStatus();
}

bool MayEnter(const struct stat& info, const Identity& who) {
  if (info.st_uid == who.uid) return (info.st_mode & S_IXUSR) != 0;
  if (info.st_gid == who.gid) return (info.st_mode & S_IXGRP) != 0;
  return (info.st_mode & S_IXOTH) != 0;
}

Status CheckReachable(const std::string& state, const Identity& agentd) {
  for (size_t slash = state.find('/', 1);; slash = state.find('/', slash + 1)) {
    const std::string prefix = state.substr(0, slash);
    struct stat info;
    if (stat(prefix.c_str(), &info) != 0) return ErrnoStatus(errno, "stat " + prefix);
    if (!MayEnter(info, agentd)) {
      return PermissionDenied(prefix + " has mode " + Octal(info.st_mode) +
                              ", so odyssey-agentd (uid " + std::to_string(agentd.uid) +
                              ") cannot reach its state; choose a --state below /var/lib or /tmp");
    }
    if (slash == std::string::npos) return OkStatus();
  }
}

}  // namespace

DaemonIdentities ChooseIdentities() {
  return {UserOr("odyssey-rpc", kFallbackRpcId), UserOr("odyssey-agentd", kFallbackAgentdId)};
}

StateLayout LayoutOf(const std::string& state) {
  return {.state = state,
          .supervisor_dir = state + "/supervisor",
          .agentd_dir = state + "/agentd",
          .run_dir = state + "/run",
          .log_dir = state + "/log",
          .policy_dir = state + "/policy.d",
          .lock_path = state + "/up.lock",
          .supervisor_socket = state + "/run/supervisor.sock",
          .agentd_socket = state + "/run/agentd.sock"};
}

Status CreateLayout(const StateLayout& layout, const Identity& agentd) {
  ODY_RETURN_IF_ERROR(MakeDirectories(layout.state, 0755));
  ODY_RETURN_IF_ERROR(CheckState(layout.state));
  if (IsOurs(layout) && chmod(layout.state.c_str(), 0755) != 0) {
    return ErrnoStatus(errno, "change mode of " + layout.state);
  }
  ODY_RETURN_IF_ERROR(CheckReachable(layout.state, agentd));

  const Identity root = {0, 0};
  ODY_RETURN_IF_ERROR(EnsureDirectory(layout.supervisor_dir, root, 0700));
  ODY_RETURN_IF_ERROR(EnsureDirectory(layout.log_dir, root, 0700));
  ODY_RETURN_IF_ERROR(EnsureDirectory(layout.agentd_dir, agentd, 0700));
  // Sticky: agentd may make its own socket there, and may not remove or replace the supervisor's.
  return EnsureDirectory(layout.run_dir, {0, agentd.gid}, 01775);
}

}  // namespace odyssey::ctl
