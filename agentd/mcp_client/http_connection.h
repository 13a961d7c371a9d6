#ifndef ODYSSEY_AGENTD_MCP_CLIENT_HTTP_CONNECTION_H_
#define ODYSSEY_AGENTD_MCP_CLIENT_HTTP_CONNECTION_H_

// A server behind a URL: each message is one command of the cell, curl, under the cell's policy of
// egress. agentd connects to nothing. Thread-safe.

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "agentd/mcp_client/connection.h"
#include "agentd/sandbox/sandbox.h"
#include "policy/dialect/mcp_server.h"

namespace odyssey::mcp_client {

class HttpConnection final : public Connection {
 public:
  // `sandbox` and `server` are borrowed.
  HttpConnection(sandbox::Sandbox* sandbox, const dialect::McpServerSpec* server,
                 std::string cell_id);

  Exchange Call(const std::string& method, const Json& params, const CallTerms& terms) override;
  Exchange Notify(const std::string& method, const Json& params, const CallTerms& terms) override;
  void Speak(const std::string& version) override;
  bool is_open() const override;
  bool is_process() const override { return false; }
  bool TakeListChanged() override { return list_changed_.exchange(false); }
  void End() override;

 private:
  class Post;

  // `id` 0: no answer is expected.
  Exchange Send(const std::string& message, int64_t id, const CallTerms& terms);
  void Refuse(const Json& id, const CallTerms& terms);

  sandbox::Sandbox* const sandbox_;
  const dialect::McpServerSpec* const server_;
  const std::string cell_id_;
  std::atomic<int64_t> last_id_ = 0;
  std::atomic<bool> list_changed_ = false;

  mutable std::mutex mutex_;
  // All below: guarded by mutex_.
  std::string session_id_;
  std::string version_;
  bool over_ = false;  // the server knows the session no more
};

}  // namespace odyssey::mcp_client

#endif  // ODYSSEY_AGENTD_MCP_CLIENT_HTTP_CONNECTION_H_
