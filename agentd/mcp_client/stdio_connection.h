#ifndef ODYSSEY_AGENTD_MCP_CLIENT_STDIO_CONNECTION_H_
#define ODYSSEY_AGENTD_MCP_CLIENT_STDIO_CONNECTION_H_

// A server that is a process of the cell: messages on its stdin and stdout, one a line.
// Thread-safe.

#include <condition_variable>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "agentd/mcp_client/connection.h"
#include "agentd/sandbox/sandbox.h"

namespace odyssey::mcp_client {

class StdioConnection final : public Connection {
 public:
  // Starts the process. `sandbox` is borrowed; `start` is complete but for its stdin.
  StdioConnection(sandbox::Sandbox* sandbox, supervisor::v1::ExecStart start);
  ~StdioConnection() override;

  Exchange Call(const std::string& method, const Json& params, const CallTerms& terms) override;
  Exchange Notify(const std::string& method, const Json& params, const CallTerms& terms) override;
  void Speak(const std::string&) override {}
  bool is_open() const override;
  bool is_process() const override { return true; }
  bool TakeListChanged() override;
  void End() override;

 private:
  void Run(sandbox::Sandbox* sandbox);
  Status OnOutput(const supervisor::v1::ExecOutput& output);
  Status OnLine(const std::string& line);
  void KeepNoise(std::string_view text);
  Status WhyEndedLocked(const Result<supervisor::v1::ExecOutcome>& ended) const;
  void TakeEndLocked(Exchange* out);

  const supervisor::v1::ExecStart start_;
  sandbox::ExecFeed feed_;
  std::stop_source stop_;
  RpcLines lines_;  // of the process's thread

  mutable std::mutex mutex_;
  std::condition_variable_any changed_;
  // All below: guarded by mutex_.
  int64_t last_id_ = 0;
  std::set<int64_t> waiting_;  // ids of calls that wait for an answer
  std::map<int64_t, RpcResponse> answers_;
  size_t unasked_bytes_ = 0;  // since the last call began
  std::string noise_;         // the latest of stderr, and of stdout what is no message
  bool list_changed_ = false;
  bool ended_ = false;
  Status end_;
  std::vector<supervisor::v1::Denial> denials_;
  std::vector<supervisor::v1::EgressDecision> decisions_;

  std::thread thread_;  // last: it uses everything above
};

}  // namespace odyssey::mcp_client

#endif  // ODYSSEY_AGENTD_MCP_CLIENT_STDIO_CONNECTION_H_
