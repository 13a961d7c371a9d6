#ifndef ODYSSEY_SUPERVISOR_EGRESS_HTTP_REFUSAL_H_
#define ODYSSEY_SUPERVISOR_EGRESS_HTTP_REFUSAL_H_

// The answer to a request that is refused: JSON that an agent can act on.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "supervisor/egress/http/parsed.h"

namespace odyssey::egress::http {

struct Refusal {
  int status = 403;
  std::string error =
      "policy_denied";  // a word for programs: "ssrf_denied", "upstream_unreachable"
  // What is "", 0 or empty is left out.
  std::string policy;
  std::string rule;
  std::string detail;  // a sentence
  std::string layer;   // "l4" or "l7"
  std::string protocol;
  std::string method;
  std::string path;
  std::string host;
  uint16_t port = 0;
  std::string binary;
  std::string reason;
  std::vector<std::pair<std::string, std::string>>
      rule_missing;  // the smallest one that would allow it
  std::vector<std::string> next_steps;
  uint32_t retry_after = 0;  // seconds
  std::string agent_guidance;
  std::string body;  // JSON in place of all of these, where a protocol has errors of its own
};

// Of a head that could not be read: its error is "malformed_request", or the like for its status.
Refusal RefusalOf(const ParseError& error);

// One object, or `body`. Bytes that are no UTF-8 become U+FFFD.
std::string RefusalBody(const Refusal& refusal);

// The whole response, after which the connection is closed. The body is left out for HEAD.
std::string RefusalResponse(const Refusal& refusal);

}  // namespace odyssey::egress::http

#endif  // ODYSSEY_SUPERVISOR_EGRESS_HTTP_REFUSAL_H_
