#ifndef ODYSSEY_POLICY_COMPILE_WEAKNESS_H_
#define ODYSSEY_POLICY_COMPILE_WEAKNESS_H_

// What a supervisor without root enforces less, and what of a policy it refuses for that. The one
// table of both: compiling, GetInfo, and so `odyssey-ctl status` and `doctor`, read it. Pure.

#include <string>
#include <vector>

#include "common/base/status.h"
#include "policy/compile/compile.h"
#include "policy/model/request.h"

namespace odyssey::compile {

struct Weakness {
  std::string name;  // "memory"
  std::string what;  // one sentence, for people
  friend bool operator==(const Weakness&, const Weakness&) = default;
};

// None of a supervisor that runs as root.
std::vector<Weakness> WeaknessesOf(const Enforcement& enforcement);

// FAILED_PRECONDITION for the first thing that the request asks for and this supervisor cannot
// enforce: names the key, the value and what is possible.
Status CheckEnforced(const policy::SandboxRequest& request, const Enforcement& enforcement);

}  // namespace odyssey::compile

#endif  // ODYSSEY_POLICY_COMPILE_WEAKNESS_H_
