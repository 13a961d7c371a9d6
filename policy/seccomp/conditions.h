#ifndef ODYSSEY_POLICY_SECCOMP_CONDITIONS_H_
#define ODYSSEY_POLICY_SECCOMP_CONDITIONS_H_

// Conditions on arguments, and the bits that both tables look at.

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>

#include <cstdint>

#include <seccomp.h>

namespace odyssey::seccomp {

// (argument & mask) == value.
constexpr scmp_arg_cmp Masked(unsigned argument, uint64_t mask, uint64_t value) {
  return {argument, SCMP_CMP_MASKED_EQ, mask, value};
}

// All bits of `bits` are set.
constexpr scmp_arg_cmp HasBits(unsigned argument, uint64_t bits) {
  return Masked(argument, bits, bits);
}

// The low 32 bits equal `value`: what the kernel reads of an int, whatever the register's other
// half holds.
constexpr scmp_arg_cmp Low(unsigned argument, uint32_t value) {
  return Masked(argument, UINT32_MAX, value);
}

constexpr scmp_arg_cmp Not(unsigned argument, uint64_t value) {
  return {argument, SCMP_CMP_NE, value, 0};
}

constexpr scmp_arg_cmp Over(unsigned argument, uint64_t value) {
  return {argument, SCMP_CMP_GT, value, 0};
}

inline constexpr uint64_t kSetUid = S_ISUID;
inline constexpr uint64_t kSetGid = S_ISGID;
inline constexpr uint64_t kSetIdBits = kSetUid | kSetGid;
// O_TMPFILE is this bit and O_DIRECTORY.
inline constexpr uint64_t kTemporaryFile = O_TMPFILE & ~O_DIRECTORY;
inline constexpr uint64_t kCreatingFlags = O_CREAT | kTemporaryFile;
// The other bits of a socket's type are flags.
inline constexpr uint64_t kSocketTypeMask = 0xf;
// CLONE_NEWTIME is not a flag of clone(2): its bit is part of the exit signal there.
inline constexpr uint64_t kCloneNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS |
                                             CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |
                                             CLONE_NEWNET;

}  // namespace odyssey::seccomp

#endif  // ODYSSEY_POLICY_SECCOMP_CONDITIONS_H_
