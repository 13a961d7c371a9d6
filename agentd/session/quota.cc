#include "agentd/session/quota.h"

#include <set>
#include <string>

#include "common/base/refusal.h"
#include "policy/dialect/ceiling_directory.h"

namespace odyssey::session {

Result<ceiling::Quota> QuotaOf(uint32_t owner, const Runtime& runtime) {
  ODY_ASSIGN_OR_RETURN(const auto current, runtime.ceiling->Get());
  if (current->ceiling.quotas.empty()) return ceiling::Quota();
  return ceiling::QuotaOf(current->ceiling, dialect::OwnerOf(owner));
}

Status CheckQuota(const ceiling::Quota& quota, ceiling::Counted kind, uint64_t used,
                  uint32_t owner) {
  const size_t index = static_cast<size_t>(kind);
  const ceiling::Bound& bound = quota[index];
  if (bound.value == 0 || used < bound.value) return OkStatus();
  return Refused(Code::kResourceExhausted, "quota." + std::string(ceiling::kCountedNames[index]),
                 std::to_string(used),
                 "so much is in use by uid " + std::to_string(owner) + "; at most " +
                     std::to_string(bound.value) + " is allowed by " + ToString(bound.origin));
}

uint64_t CountSessions(uint32_t owner, const Runtime& runtime) {
  uint64_t out = 0;
  for (const SessionPtr& record : runtime.store->List()) out += record->owner_uid == owner;
  return out;
}

uint64_t CountDiskBytes(uint32_t owner, const Runtime& runtime) {
  uint64_t out = 0;
  std::set<std::string> pinned;
  for (const SessionPtr& record : runtime.store->List()) {
    if (record->owner_uid != owner) continue;
    out += runtime.store->BytesOf(record->id) + runtime.journals->BytesOf(record->id);
    pinned.insert(record->bundle.digest);
  }
  return out + runtime.bundles->BytesOf(owner, pinned);
}

Status CheckDiskQuota(const ceiling::Quota& quota, uint32_t owner, const Runtime& runtime) {
  constexpr ceiling::Counted kDisk = ceiling::Counted::kDiskBytes;
  if (quota[static_cast<size_t>(kDisk)].value == 0) return OkStatus();
  return CheckQuota(quota, kDisk, CountDiskBytes(owner, runtime), owner);
}

}  // namespace odyssey::session
