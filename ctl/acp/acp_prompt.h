#ifndef ODYSSEY_CTL_ACP_ACP_PROMPT_H_
#define ODYSSEY_CTL_ACP_ACP_PROMPT_H_

// What an editor sends, as agentd takes it. Pure.

#include <string>

#include "common/base/status.h"
#include "common/json_rpc/json_rpc.h"
#include "ctl/approval/approval_prompt.h"
#include "odyssey/agent/v1/event.pb.h"

namespace odyssey::ctl {

// The content blocks of session/prompt as one text: links by their address, the text of what is
// embedded at the end. INVALID_ARGUMENT: a block that is no text.
Result<std::string> PromptText(const Json& blocks);

// The answer to session/request_permission. What is neither an option nor a cancellation denies.
Answered AnswerOf(const agent::v1::PermissionRequested& request, const RpcResponse& response);

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_ACP_ACP_PROMPT_H_
