#ifndef ODYSSEY_POLICY_PLAN_REFUSED_CALL_H_
#define ODYSSEY_POLICY_PLAN_REFUSED_CALL_H_

#include <array>
#include <cstdint>
#include <string>

namespace odyssey::cell {

inline constexpr uint32_t kMaxRefusedCalls = 32;  // reported one by one, of one command
inline constexpr uint32_t kMaxComm = 15;          // TASK_COMM_LEN without its NUL

// The resolver of a cell without a network: UDP 127.0.0.1:53; how many of the names that it refused
// are reported of one command, and the longest.
inline constexpr uint16_t kResolverPort = 53;
inline constexpr char kHostName[] = "cell";  // which the resolver does not report
inline constexpr uint32_t kMaxRefusedNames = 16;
inline constexpr uint32_t kMaxDestinationBytes = 253;

// System calls that were refused, as the kernel notified the slot's pid 1 of them: of one name of
// process, one call, and the arguments that decide where some are allowed.
struct RefusedCall {
  uint32_t number = 0;
  // Family, type without flags, and protocol of socket(2); the family of socketpair(2); the request
  // of ioctl(2).
  std::array<uint32_t, 3> arguments{};
  uint64_t count = 0;
  uint32_t pid = 0;  // of the first, in the slot
  std::string comm;  // which a process chooses for itself
  // Of connect(2) and sendto(2) in a cell without a network: "192.0.2.1:443", "[2001:db8::1]:443".
  // Without a call (`number` 0), process and count: a name that the cell's resolver refused.
  std::string destination;
  friend bool operator==(const RefusedCall&, const RefusedCall&) = default;
};

}  // namespace odyssey::cell

#endif  // ODYSSEY_POLICY_PLAN_REFUSED_CALL_H_
