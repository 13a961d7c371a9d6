#ifndef ODYSSEY_AGENTD_SESSION_RECOVERY_H_
#define ODYSSEY_AGENTD_SESSION_RECOVERY_H_

// What a crash left of a session, made whole.

#include "agentd/session/runtime.h"
#include "agentd/session/session_record.h"
#include "common/base/status.h"

namespace odyssey::session {

// Turns that were running become interrupted and keep what the journal has of them, queued turns
// stay queued, but for those of workers, which become interrupted too, and every turn that has
// ended has the event of its end in the journal. May be repeated.
Status RecoverSession(const SessionRecord& record, const Runtime& runtime);

}  // namespace odyssey::session

#endif  // ODYSSEY_AGENTD_SESSION_RECOVERY_H_
