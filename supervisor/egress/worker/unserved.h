#ifndef ODYSSEY_SUPERVISOR_EGRESS_WORKER_UNSERVED_H_
#define ODYSSEY_SUPERVISOR_EGRESS_WORKER_UNSERVED_H_

#include <cstdint>
#include <set>
#include <string>

#include "supervisor/egress/worker/worker.h"

namespace odyssey::egress {

// Records a connection that the cell's kernel refuses at once, since the policy names no endpoint
// on its port: one of `served` is decided when it arrives.
void ReportUnserved(Worker* worker, const std::string& destination, const Program& program,
                    const std::set<uint16_t>& served);

}  // namespace odyssey::egress

#endif  // ODYSSEY_SUPERVISOR_EGRESS_WORKER_UNSERVED_H_
