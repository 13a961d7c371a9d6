#ifndef ODYSSEY_AGENTD_TOOL_WORKER_TOOL_H_
#define ODYSSEY_AGENTD_TOOL_WORKER_TOOL_H_

#include <memory>

#include "agentd/tool/tool.h"

namespace odyssey::tools {

// worker_call. The session starts the worker and waits for it (agentd/session/worker_call.h).
std::unique_ptr<Tool> NewWorkerTool();

}  // namespace odyssey::tools

#endif  // ODYSSEY_AGENTD_TOOL_WORKER_TOOL_H_
