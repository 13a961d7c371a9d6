#ifndef ODYSSEY_AGENTD_MCP_CLIENT_HTTP_ANSWER_H_
#define ODYSSEY_AGENTD_MCP_CLIENT_HTTP_ANSWER_H_

// What curl prints of one POST of the protocol: messages on stdout, as JSON or as server-sent
// events, and facts on stderr. Pure.

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "agentd/model/sse_parser.h"
#include "common/base/status.h"
#include "common/json_rpc/json_rpc.h"
#include "policy/dialect/mcp_server.h"

namespace odyssey::mcp_client {

inline constexpr char kCurl[] = "curl";

// What the requests of a server's session have in common.
struct HttpTerms {
  std::string session_id;  // the server's; "" = it has none
  std::string version;     // of the protocol; "" = not agreed yet
  uint32_t timeout_ms = 0;
};

// The command that sends its stdin to the server. Of a server whose headers name variables it is a
// line for sh, which puts in their values: no argument of ours has them.
std::vector<std::string> PostCommand(const dialect::McpServerSpec& server, const HttpTerms& terms);

// Hands on each message of the body, whichever of both it is.
class HttpBody final {
 public:
  using Sink = std::function<Status(const std::string& message)>;

  // RESOURCE_EXHAUSTED: it is too large. An error of the sink is returned at once.
  Status Push(std::string_view bytes, const Sink& sink);
  Status Finish(const Sink& sink);

  // Its beginning, for the error of an answer that is no message.
  const std::string& beginning() const { return beginning_; }

 private:
  enum class Kind { kUnknown, kJson, kEvents };

  Kind kind_ = Kind::kUnknown;
  std::string json_;
  std::string beginning_;
  size_t bytes_ = 0;
  model::SseParser events_;
};

// The facts, and what curl itself says.
struct HttpFacts {
  int status = 0;          // of HTTP; 0: there was no answer
  std::string session_id;  // that the server gives
  std::string complaint;   // curl's
  friend bool operator==(const HttpFacts&, const HttpFacts&) = default;
};
HttpFacts ReadFacts(std::string_view standard_error);

}  // namespace odyssey::mcp_client

#endif  // ODYSSEY_AGENTD_MCP_CLIENT_HTTP_ANSWER_H_
