#ifndef ODYSSEY_POLICY_SECCOMP_CONDITIONS_H_
#define ODYSSEY_POLICY_SECCOMP_CONDITIONS_H_

// Conditions on arguments, and the bits that the allow list looks at.

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

// The low 32 bits equal `value`: what the kernel reads of an int, whatever the register's other
// half holds.
constexpr scmp_arg_cmp Low(unsigned argument, uint32_t value) {
  return Masked(argument, UINT32_MAX, value);
}

inline constexpr uint64_t kSetIdBits = S_ISUID | S_ISGID;
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
