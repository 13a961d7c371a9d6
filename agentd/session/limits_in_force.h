#ifndef ODYSSEY_AGENTD_SESSION_LIMITS_IN_FORCE_H_
#define ODYSSEY_AGENTD_SESSION_LIMITS_IN_FORCE_H_

#include "agentd/session/runtime.h"
#include "agentd/session/turn_setup.h"
#include "common/base/status.h"
#include "policy/model/request.h"

namespace odyssey::session {

// Puts the limits that a cell of the request would have into it, as the supervisor does: where it
// says nothing the operator's, else the default. Reads the operator's ceiling.
Status FillLimits(const Runtime& runtime, policy::SandboxRequest* request);

// The same of a turn's cell. The wall clock of a command is agentd's to fill in, within the
// operator's bound.
Status FillLimits(const Runtime& runtime, TurnSetup* setup);

}  // namespace odyssey::session

#endif  // ODYSSEY_AGENTD_SESSION_LIMITS_IN_FORCE_H_
