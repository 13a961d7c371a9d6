#include "common/rpc/peer_groups.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <sys/socket.h>

#include <algorithm>
#include <vector>

namespace odyssey::rpc {
namespace {

constexpr size_t kUsualGroups = 64;
constexpr size_t kUserBytes = 16 * 1024;  // of a user's line

// Empty if the kernel does not say. With ERANGE it answers how many bytes there are.
std::vector<gid_t> SupplementaryGroups(int fd) {
  std::vector<gid_t> groups(kUsualGroups);
  for (;;) {
    socklen_t bytes = static_cast<socklen_t>(groups.size() * sizeof(gid_t));
    const bool read = getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups.data(), &bytes) == 0;
    const size_t count = bytes / sizeof(gid_t);
    const bool short_of_room = !read && errno == ERANGE && count > groups.size();
    groups.resize(read || short_of_room ? count : 0);
    if (!short_of_room) return groups;
  }
}

}  // namespace

bool PeerHasGroup(int fd, gid_t group) {
  ucred credentials{};
  socklen_t size = sizeof(credentials);
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return false;
  if (credentials.gid == group) return true;
  const std::vector<gid_t> groups = SupplementaryGroups(fd);
  return std::find(groups.begin(), groups.end(), group) != groups.end();
}

bool UserHasGroup(uid_t uid, gid_t group) {
  std::vector<char> buffer(kUserBytes);
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) {
    return false;
  }
  int count = kUsualGroups;
  std::vector<gid_t> groups(kUsualGroups);
  if (getgrouplist(found->pw_name, found->pw_gid, groups.data(), &count) < 0) {
    groups.resize(static_cast<size_t>(count));
    if (getgrouplist(found->pw_name, found->pw_gid, groups.data(), &count) < 0) return false;
  }
  groups.resize(static_cast<size_t>(count));
  return std::find(groups.begin(), groups.end(), group) != groups.end();
}

}  // namespace odyssey::rpc
