#ifndef ODYSSEY_AGENTD_MODEL_HTTP_STREAM_H_
#define ODYSSEY_AGENTD_MODEL_HTTP_STREAM_H_

// One HTTP POST whose answer is read as it comes. The only user of libcurl.

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

#include "agentd/model/secret.h"
#include "common/base/status.h"

namespace odyssey::model {

struct HttpPost {
  std::string url;
  std::string body;                   // JSON
  const Secret* bearer = nullptr;     // borrowed; may be null or empty
  std::chrono::seconds timeout{600};  // of the whole call
};

// https anywhere, http only to this host itself; no user, password or fragment. INVALID_ARGUMENT
// otherwise.
Status CheckProviderUrl(const std::string& url);

// Blocks until the answer is complete, handing its body to `sink`. Follows no redirect. Errors:
// UNAVAILABLE (no connection, or 5xx), DEADLINE_EXCEEDED, CANCELLED after `stop`, PERMISSION_DENIED
// (401, 403), RESOURCE_EXHAUSTED (429), INVALID_ARGUMENT (other 4xx), INTERNAL (anything else),
// each with the beginning of the answer's body; or the sink's own.
Status PostAndStream(const HttpPost& post, const std::function<Status(std::string_view)>& sink,
                     std::stop_token stop);

}  // namespace odyssey::model

#endif  // ODYSSEY_AGENTD_MODEL_HTTP_STREAM_H_
