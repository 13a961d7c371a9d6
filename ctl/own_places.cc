#include "ctl/own_places.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/os/mount_calls.h"
#include "policy/ceiling/ownership.h"

namespace odyssey::ctl {
namespace {

Result<struct stat> LookAtSource(const plan::Entry& entry) {
  struct stat info;
  const bool root = geteuid() == 0;
  Result<UniqueFd> place =
      root ? OpenHostPathAs(entry.owner, entry.source) : OpenHostPath(entry.source);
  if (!root && !place.ok()) return NotFound(entry.source + ": cannot be looked at");
  ODY_RETURN_IF_ERROR(place.status());
  if (fstat(place->get(), &info) != 0) return ErrnoStatus(errno, "stat " + entry.source);
  return info;
}

}  // namespace

Status CheckOwnPlaces(const plan::Plan& plan) {
  for (size_t i = 0; i < plan.entries.size(); ++i) {
    const plan::Entry& entry = plan.entries[i];
    if (entry.kind != plan::EntryKind::kHostTree || entry.owner == plan::kAnyOwner) continue;
    const Result<struct stat> info = LookAtSource(entry);
    if (info.status().code() == Code::kPermissionDenied) return info.status().OfItem(i);
    if (!info.ok()) continue;
    const Status owned = ceiling::CheckOwner(entry, info->st_uid, info->st_mode);
    if (!owned.ok()) return owned.OfItem(i);
  }
  return OkStatus();
}

dialect::Problems DoubtfulReach(const dialect::Policy& policy, const ceiling::Owner& owner,
                                const std::string& whole) {
  const policy::SandboxRequest& request = policy.request;
  const bool places = !request.workspace.empty() || !request.mounts.empty();
  const bool known = geteuid() == 0 || geteuid() == owner.uid || owner.uid == 0;
  if (known || !places || request.mode == policy::Mode::kDangerFullAccess) return {};
  return {{.file = whole,
           .message = "whether uid " + std::to_string(owner.uid) +
                      " reaches the places of this policy is known to root and to him alone"}};
}

}  // namespace odyssey::ctl
