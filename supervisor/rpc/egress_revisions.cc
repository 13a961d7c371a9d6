#include "supervisor/rpc/egress_revisions.h"

#include <algorithm>
#include <cstddef>

#include "common/base/field_codec.h"
#include "common/base/refusal.h"
#include "common/base/sha256.h"
#include "policy/egress/policy_fields.h"

namespace odyssey::supervisor {
namespace {

constexpr size_t kMostKept = 32;

std::string DigestOf(const egress::NetworkPolicy& policy) {
  return Sha256Hex(EncodeFields(policy));
}

}  // namespace

bool EgressRevisions::Add(const egress::NetworkPolicy& policy, const EgressChange& change) {
  EgressRevision next{.number = kept_.empty() ? 1 : current().number + 1,
                      .digest = DigestOf(policy),
                      .created_at = change.at,
                      .source = change.source,
                      .repeats = change.repeats,
                      .by_uid = change.by_uid,
                      .policy = policy};
  if (!kept_.empty() && current().digest == next.digest) return false;
  kept_.push_back(std::move(next));
  if (kept_.size() > kMostKept) kept_.pop_front();
  return true;
}

void EgressRevisions::SetLoaded(uint64_t number) {
  for (EgressRevision& kept : kept_) {
    if (kept.number == number) kept.loaded = true;
  }
}

Result<EgressRevision> EgressRevisions::Find(uint64_t number) const {
  if (number == 0) return current();
  const auto it = std::find_if(kept_.begin(), kept_.end(), [&](const EgressRevision& revision) {
    return revision.number == number;
  });
  if (it != kept_.end()) return *it;
  return Refused(Code::kNotFound, "revision", std::to_string(number),
                 "the cell has the revisions " + std::to_string(kept_.front().number) + " to " +
                     std::to_string(current().number));
}

Result<EgressRevision> EgressRevisions::FindEarlier(uint64_t number) const {
  if (number != 0) return Find(number);
  if (kept_.size() > 1) return kept_[kept_.size() - 2];
  return Refused(Code::kNotFound, "revision", "0", "the cell has had no other policy");
}

}  // namespace odyssey::supervisor
