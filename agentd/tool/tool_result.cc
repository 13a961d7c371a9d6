#include "agentd/tool/tool_result.h"

#include "agentd/base/json_text.h"

namespace odyssey::tools {

std::string ErrorText(const Status& status) {
  const char* prefix = "execution failed: ";
  if (status.code() == Code::kInvalidArgument) prefix = "invalid arguments: ";
  if (status.code() == Code::kPermissionDenied) prefix = "permission denied: ";
  return prefix + status.message();
}

ToolResult Failure(const Status& status) { return {agent::ErrorObject(ErrorText(status)), false}; }

bool EndsTurn(const Status& status) {
  return status.code() == Code::kUnavailable || status.code() == Code::kCancelled;
}

}  // namespace odyssey::tools
