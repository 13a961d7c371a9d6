#ifndef ODYSSEY_SUPERVISOR_EGRESS_WORKER_CONFINE_H_
#define ODYSSEY_SUPERVISOR_EGRESS_WORKER_CONFINE_H_

#include "common/base/status.h"

namespace odyssey::egress {

// For the rest of the process: it uses the descriptors that it has and is given, and opens,
// executes, forks, connects and makes no others. Another call ends it.
Status Confine();

}  // namespace odyssey::egress

#endif  // ODYSSEY_SUPERVISOR_EGRESS_WORKER_CONFINE_H_
