#ifndef ODYSSEY_AGENTD_SANDBOX_CELL_SPEC_PROTO_H_
#define ODYSSEY_AGENTD_SANDBOX_CELL_SPEC_PROTO_H_

#include "agentd/sandbox/sandbox.h"
#include "odyssey/supervisor/v1/supervisor.pb.h"

namespace odyssey::sandbox {

supervisor::v1::PrepareCellRequest ToProto(const CellSpec& spec);

}  // namespace odyssey::sandbox

#endif  // ODYSSEY_AGENTD_SANDBOX_CELL_SPEC_PROTO_H_
