#ifndef ODYSSEY_SUPERVISOR_RPC_EGRESS_REVISIONS_H_
#define ODYSSEY_SUPERVISOR_RPC_EGRESS_REVISIONS_H_

// The network policies that one cell has had, numbered from 1. Pure; kept in memory, the last 32.

#include <cstdint>
#include <deque>
#include <string>

#include "common/base/status.h"
#include "policy/egress/network_policy.h"

namespace odyssey::supervisor {

struct EgressRevision {
  uint64_t number = 0;
  bool loaded = false;  // odyssey-egress decides by it, or did
  std::string digest;   // sha256 of the policy, hex
  std::string created_at;
  std::string source;    // "prepare", "set", "rollback"
  uint64_t repeats = 0;  // of a rollback
  uint32_t by_uid = 0;
  egress::NetworkPolicy policy;
};

// Who makes a revision, and how.
struct EgressChange {
  std::string source;
  uint64_t repeats = 0;
  uint32_t by_uid = 0;
  std::string at;  // RFC 3339
};

class EgressRevisions final {
 public:
  // False: the policy is in force already, and no revision was made.
  bool Add(const egress::NetworkPolicy& policy, const EgressChange& change);
  void SetLoaded(uint64_t number);

  // There is one in force once Add was called.
  const EgressRevision& current() const { return kept_.back(); }
  // 0: the one in force. NOT_FOUND names the field "revision".
  Result<EgressRevision> Find(uint64_t number) const;
  // 0: the one before that in force.
  Result<EgressRevision> FindEarlier(uint64_t number) const;
  const std::deque<EgressRevision>& all() const { return kept_; }  // oldest first

 private:
  std::deque<EgressRevision> kept_;
};

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_EGRESS_REVISIONS_H_
