#ifndef ODYSSEY_POLICY_COMPILE_DANGER_H_
#define ODYSSEY_POLICY_COMPILE_DANGER_H_

// danger_full_access: a request that gets no cell but the host itself. Nothing here grants it; this
// says what can be asked for with it, and tells people what it is.

#include <cstdint>
#include <string>

#include "common/base/status.h"
#include "policy/compile/compile.h"
#include "policy/model/request.h"
#include "policy/plan/plan_check.h"

namespace odyssey::compile {

// The user as whom commands run, from the host's user database.
struct HostUser {
  uint32_t uid = 0;
  std::string name;  // "": the database does not have them
  std::string home;
};

// INVALID_ARGUMENT, PERMISSION_DENIED or FAILED_PRECONDITION naming the field: whatever asks for a
// bound that nothing would hold is refused. The plan has limits and no entries, the confinement is
// empty, and commands start in the request's workspace, or else in the user's home.
Result<Compiled> CompileDanger(const policy::SandboxRequest& request, const HostUser& user,
                               const plan::CheckContext& context);

}  // namespace odyssey::compile

#endif  // ODYSSEY_POLICY_COMPILE_DANGER_H_
