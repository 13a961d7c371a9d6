#ifndef ODYSSEY_SUPERVISOR_RPC_CEILING_GATE_H_
#define ODYSSEY_SUPERVISOR_RPC_CEILING_GATE_H_

// Where the operator's ceiling is enforced: before a cell is made, and before it is used again.
// The files are read each time, so that what they say is what holds; they are parsed again when a
// byte of them has changed. While they cannot be read or are wrong, nothing is admitted.
// Thread-safe.

#include <memory>
#include <string>

#include "common/base/status.h"
#include "policy/answer/answer.h"
#include "policy/ceiling/check.h"
#include "policy/dialect/ceiling_directory.h"
#include "policy/model/request.h"
#include "supervisor/rpc/host_facts.h"

namespace odyssey::supervisor {

// What was admitted, to be judged again when the ceiling has changed.
struct Admission {
  policy::SandboxRequest request;  // with the limits that the ceiling fills in
  ceiling::Owner owner;
  std::string digest;  // of the ceiling by which it was admitted
  // Host paths granted to the owner's uid whatever their owner (not ceiling::Ruling::own_only).
  std::set<std::string> outright;
};

class CeilingGate final {
 public:
  // `host` is what no file can grant.
  CeilingGate(std::string directory, plan::CheckContext host);

  // FAILED_PRECONDITION says why no cell would be made.
  Status Check();

  // PERMISSION_DENIED names the key, the value and the rule. `allow_danger`: the person's own word
  // that danger_full_access is meant.
  Result<Admission> Admit(policy::SandboxRequest request, uint32_t owner_uid, bool allow_danger);

  // What a question of CheckPolicy is answered under: the ceiling that Admit would hold it against.
  Result<answer::Under> UnderFor(uint32_t owner_uid);

  // Says in the plan of what was admitted whose each host tree has to be (ceiling/ownership.h).
  void SetOwners(const Admission& admission, plan::Plan* plan) const;

  // Whether what was admitted would still be; also a command's own wall clock, 0 = the cell's.
  Status StillAllows(Admission* admission, uint32_t wall_clock_ms = 0);

  // A command's that names no wall clock of its own. 0: the cell's.
  Result<uint32_t> WallClockWithin(uint32_t wanted);

  // What an unset limit means now.
  policy::Limits DefaultLimits();

  // What the image store is to keep to.
  Result<ceiling::Images> Images();

  // "operator_policy", for GetInfo.
  Feature Describe();

 private:
  using InForcePtr = dialect::CeilingFiles::InForcePtr;

  Result<InForcePtr> Current();

  dialect::CeilingFiles files_;
  const plan::CheckContext host_;
};

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_CEILING_GATE_H_
