#ifndef ODYSSEY_POLICY_PLAN_REFUSED_CALL_H_
#define ODYSSEY_POLICY_PLAN_REFUSED_CALL_H_

#include <array>
#include <cstdint>
#include <string>

namespace odyssey::cell {

inline constexpr uint32_t kMaxRefusedCalls = 32;  // told one by one, of one command
inline constexpr uint32_t kMaxComm = 15;          // TASK_COMM_LEN without its NUL

// System calls that the commands' filter refused, as the kernel told the slot's pid 1: of one name
// of process, one call, and the arguments that decide where some are allowed.
struct RefusedCall {
  uint32_t number = 0;
  // Family, type without flags, and protocol of socket(2); the family of socketpair(2); the request
  // of ioctl(2).
  std::array<uint32_t, 3> arguments{};
  uint64_t count = 0;
  uint32_t pid = 0;  // of the first, in the slot
  std::string comm;  // which a process chooses for itself
  friend bool operator==(const RefusedCall&, const RefusedCall&) = default;
};

}  // namespace odyssey::cell

#endif  // ODYSSEY_POLICY_PLAN_REFUSED_CALL_H_
