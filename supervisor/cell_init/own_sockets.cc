#include "supervisor/cell_init/own_sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <optional>
#include <string>

#include "common/os/file.h"
#include "common/os/unique_fd.h"

namespace odyssey::cell_init {
namespace {

// The kernel sends a page at once to who has not asked for more (netlink(7)).
constexpr size_t kMostAnswered = 8192;
constexpr size_t kMaxMountInfo = 4 * 1024 * 1024;
constexpr int kMinorBits = 20;  // of a device's number within the kernel

// As unix_diag names it, which is not what stat(2) says on btrfs and overlayfs: from the mount's
// line in mountinfo, "ID PARENT MAJOR:MINOR ROOT ...".
Result<uint32_t> DeviceOfMount(uint64_t mount) {
  ODY_ASSIGN_OR_RETURN(const std::string mounts, ReadFile("/proc/self/mountinfo", kMaxMountInfo));
  const std::string id = std::to_string(mount) + " ";
  for (size_t at = 0; at < mounts.size(); at = mounts.find('\n', at) + 1) {
    if (mounts.compare(at, id.size(), id) == 0) {
      unsigned major = 0, minor = 0;
      if (sscanf(mounts.c_str() + at, "%*s %*s %u:%u", &major, &minor) != 2) break;
      return major << kMinorBits | minor;
    }
    if (mounts.find('\n', at) == std::string::npos) break;
  }
  return Unavailable("mount " + std::to_string(mount) + " is not in /proc/self/mountinfo");
}

// To which file the socket of a message is bound, if it has one.
std::optional<unix_diag_vfs> FileOf(const nlmsghdr* message) {
  const auto* socket = static_cast<const unix_diag_msg*>(NLMSG_DATA(message));
  size_t left = message->nlmsg_len - NLMSG_LENGTH(sizeof(*socket));
  auto* attribute = reinterpret_cast<const rtattr*>(socket + 1);
  for (; RTA_OK(attribute, left); attribute = RTA_NEXT(attribute, left)) {
    if (attribute->rta_type != UNIX_DIAG_VFS) continue;
    unix_diag_vfs file;
    memcpy(&file, RTA_DATA(attribute), sizeof(file));
    return file;
  }
  return std::nullopt;
}

Result<UniqueFd> AskForAll() {
  UniqueFd fd(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  if (!fd) return ErrnoStatus(errno, "ask for sockets");
  struct {
    nlmsghdr header;
    unix_diag_req request;
  } message{};
  message.header.nlmsg_len = sizeof(message);
  message.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  message.header.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
  message.request.sdiag_family = AF_UNIX;
  message.request.udiag_states = ~0U;
  message.request.udiag_show = UDIAG_SHOW_VFS;
  if (send(fd.get(), &message, sizeof(message), 0) < 0) {
    return ErrnoStatus(errno, "ask for sockets");
  }
  return fd;
}

}  // namespace

Result<bool> IsBoundHere(int place) {
  struct statx info;
  if (statx(place, "", AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, &info) != 0) {
    return ErrnoStatus(errno, "look at a socket");
  }
  ODY_ASSIGN_OR_RETURN(const UniqueFd fd, AskForAll());
  alignas(nlmsghdr) char bytes[kMostAnswered];
  for (;;) {
    const ssize_t n = recv(fd.get(), bytes, sizeof(bytes), 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return ErrnoStatus(errno, "ask for sockets");
    size_t left = static_cast<size_t>(n);
    auto* message = reinterpret_cast<const nlmsghdr*>(bytes);
    for (; NLMSG_OK(message, left); message = NLMSG_NEXT(message, left)) {
      if (message->nlmsg_type == NLMSG_DONE) return false;
      if (message->nlmsg_type == NLMSG_ERROR) return Unavailable("the kernel has no unix_diag");
      const auto file = FileOf(message);
      // It has the lower half of the number.
      if (!file || file->udiag_vfs_ino != static_cast<uint32_t>(info.stx_ino)) continue;
      ODY_ASSIGN_OR_RETURN(const uint32_t device, DeviceOfMount(info.stx_mnt_id));
      if (file->udiag_vfs_dev == device) return true;
    }
  }
}

}  // namespace odyssey::cell_init
