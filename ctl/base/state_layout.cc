#include "ctl/base/state_layout.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
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

// The supervisor acts on names in this directory, so only its uid may rename what is in it.
Status CheckState(const std::string& state) {
  struct stat info;
  if (lstat(state.c_str(), &info) != 0) return ErrnoStatus(errno, "stat " + state);
  if (!S_ISDIR(info.st_mode)) return InvalidArgument(state + " is not a directory");
  if (info.st_uid != geteuid() || (info.st_mode & 022) != 0) {
    const std::string user = geteuid() == 0 ? "root" : "uid " + std::to_string(geteuid());
    return PermissionDenied(state + " belongs to uid " + std::to_string(info.st_uid) +
                            " with mode " + Octal(info.st_mode) + ": a state directory must be " +
                            user + "'s and writable by " + user + " alone");
  }
  return OkStatus();
}

bool MayEnter(const struct stat& info, const Identity& who) {
  if (info.st_uid == who.uid) return (info.st_mode & S_IXUSR) != 0;
  if (info.st_gid == who.gid) return (info.st_mode & S_IXGRP) != 0;
  return (info.st_mode & S_IXOTH) != 0;
}

// A uid that may rename a directory above could put another state there, with another ceiling in
// it. In a sticky directory a uid may rename only its own.
Status CheckAbove(const std::string& directory, const struct stat& info) {
  const bool others_write =
      !S_ISLNK(info.st_mode) && (info.st_mode & 022) != 0 && (info.st_mode & S_ISVTX) == 0;
  const bool ours = info.st_uid == 0 || info.st_uid == geteuid();
  if (ours && !others_write) return OkStatus();
  return PermissionDenied(directory + " belongs to uid " + std::to_string(info.st_uid) +
                          " with mode " + Octal(info.st_mode) +
                          ": a uid other than root could put another state in the place of this "
                          "one; choose a --state " +
                          (geteuid() == 0 ? "below /var/lib or /tmp" : "in your home or /tmp"));
}

Status CheckReachable(const std::string& directory, const struct stat& info,
                      const Identity& agentd) {
  if (MayEnter(info, agentd)) return OkStatus();
  return PermissionDenied(directory + " has mode " + Octal(info.st_mode) +
                          ", so odyssey-agentd (uid " + std::to_string(agentd.uid) +
                          ") cannot reach its state: chmod o+x " + directory +
                          ", or choose another --state");
}

// What there is of the way to the state, without it.
Status CheckWay(const std::filesystem::path& state, const Identity& agentd) {
  for (std::filesystem::path way = state; way != way.root_path();) {
    way = way.parent_path();
    struct stat info;
    if (lstat(way.c_str(), &info) != 0) {
      if (errno == ENOENT) continue;
      return ErrnoStatus(errno, "stat " + way.string());
    }
    if (S_ISREG(info.st_mode)) return InvalidArgument(way.string() + " is not a directory");
    ODY_RETURN_IF_ERROR(CheckAbove(way, info));
    if (!S_ISLNK(info.st_mode)) ODY_RETURN_IF_ERROR(CheckReachable(way, info, agentd));
  }
  return OkStatus();
}

// As it was named, and where that leads.
Status CheckWays(const std::string& state, const Identity& agentd) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::weakly_canonical(state, error);
  if (error) return ErrnoStatus(error.value(), "find " + state);
  ODY_RETURN_IF_ERROR(CheckWay(state, agentd));
  return CheckWay(real, agentd);
}

}  // namespace

DaemonIdentities ChooseIdentities() {
  const Identity own = {geteuid(), getegid()};
  if (own.uid != 0) return {.rpc = own, .agentd = own, .egress = own, .http = own};
  return {.rpc = UserOr("odyssey-rpc", kFallbackRpcId),
          .agentd = UserOr("odyssey-agentd", kFallbackAgentdId),
          .egress = UserOr("odyssey-egress", kFallbackEgressId),
          .http = UserOr("odyssey-http", kFallbackHttpId)};
}

StateLayout LayoutOf(const std::string& state) {
  return {.state = state,
          .supervisor_dir = state + "/supervisor",
          .agentd_dir = state + "/agentd",
          .run_dir = state + "/run",
          .egress_dir = state + "/run/egress",
          .egress_state = state + "/egress",
          .http_dir = state + "/run/http",
          .log_dir = state + "/log",
          .policy_dir = state + "/policy.d",
          .prices_path = state + "/prices.yaml",
          .lock_path = state + "/up.lock",
          .supervisor_socket = state + "/run/supervisor.sock",
          .agentd_socket = state + "/run/agentd.sock"};
}

Status CreateLayout(const StateLayout& layout, const DaemonIdentities& ids) {
  const Identity& agentd = ids.agentd;
  ODY_RETURN_IF_ERROR(CheckWays(layout.state, agentd));
  // The mode of one that is there is its owner's decision.
  const bool is_new = access(layout.state.c_str(), F_OK) != 0;
  const Identity own = {geteuid(), getegid()};
  const bool shared = own.uid == 0;  // with the daemons' own users, and clients of other ones
  ODY_RETURN_IF_ERROR(MakeDirectories(layout.state, shared ? 0755 : 0700));
  ODY_RETURN_IF_ERROR(CheckState(layout.state));
  // Whatever the umask is.
  if (is_new && chmod(layout.state.c_str(), shared ? 0755 : 0700) != 0) {
    return ErrnoStatus(errno, "change mode of " + layout.state);
  }
  struct stat info;
  if (stat(layout.state.c_str(), &info) != 0) return ErrnoStatus(errno, "stat " + layout.state);
  ODY_RETURN_IF_ERROR(CheckReachable(layout.state, info, agentd));

  ODY_RETURN_IF_ERROR(EnsureDirectory(layout.supervisor_dir, own, 0700));
  ODY_RETURN_IF_ERROR(EnsureDirectory(layout.log_dir, own, 0700));
  ODY_RETURN_IF_ERROR(EnsureDirectory(layout.agentd_dir, agentd, 0700));
  // Sticky: agentd may make its own socket there, and may not remove or replace the supervisor's.
  ODY_RETURN_IF_ERROR(
      EnsureDirectory(layout.run_dir, {own.uid, agentd.gid}, shared ? 01775 : 0700));
  ODY_RETURN_IF_ERROR(EnsureDirectory(layout.egress_state, ids.egress, 0700));
  ODY_RETURN_IF_ERROR(EnsureDirectory(layout.http_dir, ids.http, 0755));
  return EnsureDirectory(layout.egress_dir, ids.egress, 0755);
}

}  // namespace odyssey::ctl
