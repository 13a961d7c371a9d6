#ifndef ODYSSEY_POLICY_EXPLAIN_REFUSED_CALL_H_
#define ODYSSEY_POLICY_EXPLAIN_REFUSED_CALL_H_

// System calls that the commands' filter refused, by their numbers, for people. Pure.

#include <cstdint>
#include <string>

#include "policy/explain/denial.h"
#include "policy/plan/refused_call.h"

namespace odyssey::explain {

// "mount"; "system call 400" of one that has no name here.
std::string CallName(uint32_t number);

// With the arguments that decide: "socket(AF_PACKET, SOCK_RAW, 768)", "ioctl(TIOCSTI)".
std::string CallText(const cell::RefusedCall& call);

// No policy grants one.
Denial CallDenial(const cell::RefusedCall& call);

}  // namespace odyssey::explain

#endif  // ODYSSEY_POLICY_EXPLAIN_REFUSED_CALL_H_
