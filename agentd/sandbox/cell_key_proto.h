#ifndef ODYSSEY_AGENTD_SANDBOX_CELL_KEY_PROTO_H_
#define ODYSSEY_AGENTD_SANDBOX_CELL_KEY_PROTO_H_

#include "agentd/sandbox/sandbox.h"
#include "odyssey/supervisor/v1/supervisor.pb.h"

namespace odyssey::sandbox {

// An agent's id is any text, and becomes a part of a key.
void ToProto(const CellKey& key, supervisor::v1::CellKey* out);

}  // namespace odyssey::sandbox

#endif  // ODYSSEY_AGENTD_SANDBOX_CELL_KEY_PROTO_H_
