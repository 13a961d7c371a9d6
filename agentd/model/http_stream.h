#ifndef ODYSSEY_AGENTD_MODEL_HTTP_STREAM_H_
#define ODYSSEY_AGENTD_MODEL_HTTP_STREAM_H_

// One HTTP POST whose answer is read as it comes. The only user of libcurl.

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "agentd/model/secret.h"
#include "common/base/status.h"

namespace odyssey::model {

enum class Proxy { kFromEnvironment, kNone };

struct HttpPost {
  std::string url;
  std::string body;             // JSON
  const Secret* key = nullptr;  // borrowed; may be null or empty
  std::string key_header = {};  // what stands before the key, such as "x-api-key: "
  std::vector<std::string> headers = {};
  std::chrono::seconds timeout{600};             // of the whole call
  std::chrono::seconds connect_timeout{10};      // until the connection, with its TLS, stands
  std::chrono::seconds first_byte_timeout{300};  // from the beginning to the first byte of a body
  std::chrono::seconds idle_timeout{120};        // between two bytes of a body
  std::string server = "model provider";         // what an error calls it
  std::string accept = "text/event-stream";
  std::string ca_file = {};  // PEM: the only authorities that are trusted; empty: the host's
  Proxy proxy = Proxy::kFromEnvironment;
};

struct HttpEnd {
  Status status;
  long http_code = 0;                        // 0: there was no answer
  bool may_repeat = false;                   // 408, 409, 429, 5xx, or no connection
  std::chrono::milliseconds retry_after{0};  // what the server's Retry-After asks for
};

// https anywhere, http only to this host itself; no user, password or fragment. INVALID_ARGUMENT
// otherwise; `what` is what a person calls the URL.
Status CheckPostUrl(const std::string& what, const std::string& url);
Status CheckProviderUrl(const std::string& url);

// Blocks until the answer is complete, passing its body to `sink`. Follows no redirect. Closes the
// connection when `stop` is requested. Errors:
// UNAVAILABLE (no connection, or 5xx), DEADLINE_EXCEEDED, CANCELLED after `stop`, PERMISSION_DENIED
// (401, 403), RESOURCE_EXHAUSTED (429), INVALID_ARGUMENT (other 4xx), INTERNAL (anything else),
// each with the beginning of the answer's body; or the sink's own.
HttpEnd PostAndStream(const HttpPost& post, const std::function<Status(std::string_view)>& sink,
                      std::stop_token stop);

}  // namespace odyssey::model

#endif  // ODYSSEY_AGENTD_MODEL_HTTP_STREAM_H_
