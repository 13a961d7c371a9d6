#ifndef ODYSSEY_AGENTD_MCP_CLIENT_CONNECTION_H_
#define ODYSSEY_AGENTD_MCP_CLIENT_CONNECTION_H_

// The seam to a server: requests and their answers.

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "common/base/status.h"
#include "common/json_rpc/json_rpc.h"
#include "odyssey/supervisor/v1/supervisor.pb.h"

namespace odyssey::mcp_client {

// The protocol's version that we ask for, and those whose tools are the same for us.
inline constexpr char kProtocolVersion[] = "2025-11-25";
inline constexpr const char* kOlderVersions[] = {"2025-06-18", "2025-03-26", "2024-11-05"};

// Of an answer's body, and of what a server sends that no call waits for.
inline constexpr size_t kMaxMessageBytes = RpcLines::kMaxLine;
inline constexpr size_t kMaxUnaskedBytes = 2 * kMaxMessageBytes;
// Of one message to a server: what its stdin takes before it has read any.
inline constexpr size_t kMaxRequestBytes = 1024 * 1024;

inline constexpr char kCancelledMethod[] = "notifications/cancelled";
inline constexpr char kListChangedMethod[] = "notifications/tools/list_changed";

// The server has ended, or does not speak the protocol.
inline Status Aborted(std::string message) { return {Code::kAborted, std::move(message)}; }

struct CallTerms {
  std::chrono::milliseconds timeout{0};
  std::stop_token stop;
};

struct Exchange {
  // OK: `result`, or `error`, is the server's answer. UNAVAILABLE: the cell or the supervisor has
  // ended. CANCELLED: `stop`. DEADLINE_EXCEEDED: no answer in time. ABORTED: the server has ended,
  // or does not speak the protocol. INVALID_ARGUMENT: the request is too large.
  Status status;
  Json result;
  std::optional<RpcError> error;
  // Of commands that have ended meanwhile: what confinement has refused them.
  std::vector<supervisor::v1::Denial> denials;
  std::vector<supervisor::v1::EgressDecision> decisions;
};

class Connection {
 public:
  virtual ~Connection() = default;

  // Blocks until there is an answer. A call that `stop` or the time ends is told to the server.
  virtual Exchange Call(const std::string& method, const Json& params, const CallTerms& terms) = 0;
  virtual Exchange Notify(const std::string& method, const Json& params,
                          const CallTerms& terms) = 0;
  // The version that both speak.
  virtual void Speak(const std::string& version) = 0;

  // False: nothing can be called any more.
  virtual bool is_open() const = 0;
  // Whether it is a process of the cell, so that both end together.
  virtual bool is_process() const = 0;
  // Whether the server has said, since the last call, that its tools are others.
  virtual bool TakeListChanged() = 0;
  // Nothing is called any more. Returns when the process, if it is one, and all below it are gone.
  virtual void End() = 0;
};

}  // namespace odyssey::mcp_client

#endif  // ODYSSEY_AGENTD_MCP_CLIENT_CONNECTION_H_
