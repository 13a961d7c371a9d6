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

// One call that is refused where the low half of an argument, which is all that the kernel reads of
// an int, is one of some values: what an allow list of libseccomp cannot say.
struct RefusedValues {
  struct Condition {
    unsigned argument;
    uint32_t value;
  };
  int number;
  std::vector<Condition> where;  // and only if these all hold
  unsigned argument;
  std::vector<uint32_t> values;
  int error;  // EPERM, or what programs take for a kernel without it; 0: it is not done
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
// kCommand: allowed, and kNotifying: notified.
const std::vector<ArgumentRule>& AllowedUnlessNotified();
// kBuild: allowed beside that, whatever the mode.
const std::vector<Group>& AllowedToBuilds();
// Those that give an address: allowed but by kNotifyingOfConnects, which allows sendto(2) only
// without one.
const std::vector<ArgumentRule>& ConnectingCalls();
const ArgumentRule& SendWithoutAddress();
// The first number that kCommand answers with ENOSYS: one past the newest call it knows (mseal).
inline constexpr uint32_t kFirstUnknownCall = 463;

// kCommand: answered with ENOSYS, as by a kernel without it, so that programs and the C library do
// it in another way.
const std::vector<Group>& SaidToBeUnknown();

// kCommand: refused for a value, though the call is allowed.
const std::vector<RefusedValues>& RefusedByValue();

// kNotifying: notified for a value, though kCommand allows it.
const std::vector<RefusedValues>& NotifiedByValue();

// kInit: what is denied.
const std::vector<Group>& DeniedToInit();

}  // namespace odyssey::seccomp

#endif  // ODYSSEY_POLICY_SECCOMP_RULES_H_
