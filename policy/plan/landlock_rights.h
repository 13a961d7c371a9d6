#ifndef ODYSSEY_POLICY_PLAN_LANDLOCK_RIGHTS_H_
#define ODYSSEY_POLICY_PLAN_LANDLOCK_RIGHTS_H_

// What each version of Landlock can refuse, as data: cell-init handles by it, the compiler refuses
// policies by it, and clients are told by it. Pure; see landlock(7).

#include <cstdint>
#include <span>
#include <string>

namespace odyssey::landlock {

// How a kernel answers when it is asked for its version.
enum class Probe {
  kInForce,
  kNotBuilt,    // ENOSYS
  kSwitchedOff  // EOPNOTSUPP: built, but not among the modules that were booted with
};

struct Support {
  Probe probe = Probe::kNotBuilt;
  uint32_t abi = 0;  // 0 unless in force
};

// `result` and `error` are what landlock_create_ruleset(NULL, 0, LANDLOCK_CREATE_RULESET_VERSION)
// returned and left in errno. Any other failure counts as kNotBuilt.
Support SupportFrom(long result, int error);
// For people: "ABI 6", or why there is none and what to do about it.
std::string DescribeSupport(const Support& support);

// A right that came after the first version.
enum class Right { kRefer, kTruncate, kIoctlDevice, kScopeAbstractSocket, kScopeSignal };

struct RightInfo {
  Right right;
  const char* name;
  uint32_t abi;         // that has it first
  const char* kernel;   // that has this ABI first
  uint64_t file_bit;    // LANDLOCK_ACCESS_FS_…, or 0
  uint64_t scope_bit;   // LANDLOCK_SCOPE_…, or 0
  const char* without;  // what a kernel without it lets happen, or cannot do
};

std::span<const RightInfo> Rights();
// "truncate (Landlock ABI 3, Linux 6.2)".
std::string NameWithAbi(const RightInfo& info);

// The rights on files and the scopes that this ABI can handle: what is handled and not granted by a
// rule is refused. In a network namespace of its own a cell has no abstract sockets but its own, by
// which its commands, each in a domain of its own, may reach each other.
uint64_t HandledFileRights(uint32_t abi);
uint64_t HandledScopes(uint32_t abi, bool own_network);

}  // namespace odyssey::landlock

#endif  // ODYSSEY_POLICY_PLAN_LANDLOCK_RIGHTS_H_
