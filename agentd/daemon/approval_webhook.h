#ifndef ODYSSEY_AGENTD_DAEMON_APPROVAL_WEBHOOK_H_
#define ODYSSEY_AGENTD_DAEMON_APPROVAL_WEBHOOK_H_

// A server of the operator's that gets each request for approval by POST and answers it.

#include <memory>
#include <string>
#include <string_view>

#include "agentd/daemon/approval_answerer.h"
#include "agentd/model/secret.h"
#include "common/base/status.h"

namespace odyssey::daemon {

// The header with "sha256=" and the HMAC of the body, with the token as its key.
inline constexpr std::string_view kSignatureHeader = "Odyssey-Signature";

struct WebhookOptions {
  std::string url;
  model::Secret token;  // empty: neither Authorization nor a signature is sent
  std::string ca_file;  // empty: the host's authorities
};

// The token in a file of root's or of this process's user, which others may not read and the group
// not write. INVALID_ARGUMENT, or why it cannot be read.
Result<model::Secret> ReadWebhookToken(const std::string& path);

// INVALID_ARGUMENT unless the URL may be used and the file of authorities can be read.
Status CheckApprovalWebhook(const WebhookOptions& options);

// Each run is one POST over a connection of its own, with the question as the body and the answer
// in a response of status 200 (approval/command_answer.h). Follows no redirect and uses no proxy.
std::unique_ptr<AnswerTransport> NewApprovalWebhook(WebhookOptions options);

}  // namespace odyssey::daemon

#endif  // ODYSSEY_AGENTD_DAEMON_APPROVAL_WEBHOOK_H_
