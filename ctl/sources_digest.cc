#include "ctl/sources_digest.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "common/base/sha256.h"

namespace odyssey::ctl {
namespace {

// The number of an inode is soon another's; when it was born is its own.
std::string IdentityOf(const std::string& path) {
  struct statx info {};
  if (statx(AT_FDCWD, path.c_str(), 0, STATX_INO | STATX_BTIME, &info) != 0) return "unseen";
  const bool born = (info.stx_mask & STATX_BTIME) != 0;
  return std::to_string(info.stx_dev_major) + ":" + std::to_string(info.stx_dev_minor) + " " +
         std::to_string(info.stx_ino) + " " + std::to_string(born ? info.stx_btime.tv_sec : 0) +
         "." + std::to_string(born ? info.stx_btime.tv_nsec : 0);
}

}  // namespace

std::string SourcesDigest(const policy::SandboxRequest& request) {
  std::string all = IdentityOf(request.workspace);
  for (const policy::Mount& mount : request.mounts) all += "\n" + IdentityOf(mount.source);
  return Sha256Hex(all);
}

}  // namespace odyssey::ctl
