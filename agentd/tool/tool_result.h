#ifndef ODYSSEY_AGENTD_TOOL_TOOL_RESULT_H_
#define ODYSSEY_AGENTD_TOOL_TOOL_RESULT_H_

// How errors reach the model. Pure.

#include <string>

#include "agentd/tool/tool.h"
#include "common/base/status.h"

namespace odyssey::tools {

// "invalid arguments: …", "permission denied: …" or "execution failed: …", by the code. Does not
// repeat a prefix that is there.
std::string ErrorText(const Status& status);

// {"error": ErrorText}.
ToolResult Failure(const Status& status);

// True for what ends the turn instead of being a result: UNAVAILABLE, CANCELLED.
bool EndsTurn(const Status& status);

}  // namespace odyssey::tools

#endif  // ODYSSEY_AGENTD_TOOL_TOOL_RESULT_H_
