#ifndef ODYSSEY_POLICY_SECCOMP_RULES_H_
#define ODYSSEY_POLICY_SECCOMP_RULES_H_

// What each filter says, as tables: names grouped by purpose, each group with its reason, and the
// calls whose arguments decide.

#include <cstdint>
#include <vector>

#include <seccomp.h>

namespace odyssey::seccomp {

// Calls of which every argument gets the same answer.
struct Group {
  const char* reason;
  std::vector<const char*> names;
};

// A call that is too new for this libseccomp to know its name.
struct NumberedCall {
  const char* name;
  int number;
};

// One call with conditions that must all hold; a call may have several rules, any of which decides.
struct ArgumentRule {
  const char* name;
  std::vector<scmp_arg_cmp> conditions;
};

// kCommand: what is allowed.
const std::vector<Group>& AllowedCalls();
const std::vector<NumberedCall>& AllowedNewCalls();
const std::vector<ArgumentRule>& AllowedWithArguments();
// The first number that kCommand answers with ENOSYS: one past the newest call it knows (mseal).
inline constexpr uint32_t kFirstUnknownCall = 463;

// kCommand: answered with ENOSYS, so that the C library falls back to a call whose arguments a
// filter can see.
const std::vector<const char*>& UnseenArguments();

// kCommand: terminal requests that put words in another's mouth or load kernel code, refused. The
// kernel takes 32 bits of the request, so only these are compared.
const std::vector<uint32_t>& DeniedIoctls();

// kInit: what is denied.
const std::vector<Group>& DeniedToInit();

}  // namespace odyssey::seccomp

#endif  // ODYSSEY_POLICY_SECCOMP_RULES_H_
