#include "policy/ceiling/ownership.h"

#include <sys/stat.h>

#include "policy/plan/plan_check.h"

namespace odyssey::ceiling {
namespace {

bool IsShownToAll(const plan::Entry& entry, const std::string& bundle_store) {
  return entry.ownership == plan::Ownership::kUnmapped ||
         (!bundle_store.empty() && plan::IsWithin(entry.source, bundle_store));
}

// What any user of the host may read.
bool IsOpenToAll(const plan::Entry& entry, uint32_t mode) {
  const uint32_t others = S_ISDIR(mode) ? S_IROTH | S_IXOTH : S_IROTH;
  return entry.ownership == plan::Ownership::kUnmapped ||
         (entry.access == plan::Access::kReadOnly && (mode & others) == others);
}

}  // namespace

Result<std::set<std::string>> GrantedOutright(const Ceiling& ceiling,
                                              const policy::SandboxRequest& request,
                                              const Asker& asker) {
  ODY_ASSIGN_OR_RETURN(const auto rulings, Judge(ceiling, request, asker));
  std::set<std::string> paths;
  for (const Ruling& ruling : rulings) {
    if (!ruling.own_only) paths.insert(ruling.value);
  }
  return paths;
}

void SetOwners(const Asker& asker, const std::set<std::string>& outright, plan::Plan* plan) {
  if (asker.owner.uid == 0) return;
  for (plan::Entry& entry : plan->entries) {
    if (entry.kind != plan::EntryKind::kHostTree) continue;
    const bool any = IsShownToAll(entry, asker.host.bundle_store);
    if (any || outright.count(entry.source) != 0) continue;
    entry.owner = asker.owner.uid;
    if (!asker.owner.gids.empty()) entry.group = asker.owner.gids.front();
  }
}

Status CheckOwner(const plan::Entry& entry, uint32_t uid, uint32_t mode) {
  const bool anothers = entry.owner != plan::kAnyOwner && entry.owner != uid;
  if (!anothers || IsOpenToAll(entry, mode)) return OkStatus();
  return PermissionDenied("mount " + entry.source + ": it is uid " + std::to_string(uid) +
                          "'s, and not the own of uid " + std::to_string(entry.owner) +
                          " (policy/ceiling.md)");
}

}  // namespace odyssey::ceiling
