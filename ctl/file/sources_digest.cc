#include "ctl/file/sources_digest.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "common/base/sha256.h"

namespace odyssey::ctl {
namespace {

// The number of an inode is soon another's; when it was born is its own.
std::string IdentityOf(const Walk& walk) {
  struct statx info {};
  const int fd = walk.place ? walk.place->fd() : -1;
  if (statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME, &info) != 0) return "unseen";
  const bool born = (info.stx_mask & STATX_BTIME) != 0;
  return std::to_string(info.stx_dev_major) + ":" + std::to_string(info.stx_dev_minor) + " " +
         std::to_string(info.stx_ino) + " " + std::to_string(born ? info.stx_btime.tv_sec : 0) +
         "." + std::to_string(born ? info.stx_btime.tv_nsec : 0);
}

}  // namespace

std::string SourcesDigest(const policy::SandboxRequest& request, NamedPlaces* places) {
  std::string all = IdentityOf(places->Look(request.workspace));
  for (const policy::Mount& mount : request.mounts) {
    all += "\n" + IdentityOf(places->Look(mount.source));
  }
  return Sha256Hex(all);
}

}  // namespace odyssey::ctl
