#ifndef ODYSSEY_MCP_AGENT_AGENT_CALLS_H_
#define ODYSSEY_MCP_AGENT_AGENT_CALLS_H_

// Calls of odyssey-agentd that one owner has made: destroying it cancels them. Of the loop's
// thread; functions are called from the loop.

#include <google/protobuf/message_lite.h>

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "common/base/status.h"
#include "common/upstream/agent_link.h"

namespace odyssey::mcp {

class AgentCalls final {
 public:
  // `link` outlives it.
  AgentCalls(upstream::AgentLink* link, std::string token);
  ~AgentCalls();
  AgentCalls(const AgentCalls&) = delete;
  AgentCalls& operator=(const AgentCalls&) = delete;

  using OnPart = std::function<void(const google::protobuf::MessageLite&)>;
  using OnEnd = std::function<void(const Status&)>;
  // A call with one request and any number of answers, each of which is read into `part`.
  uint64_t Open(const std::string& path, int deadline_ms,
                const google::protobuf::MessageLite& request,
                std::unique_ptr<google::protobuf::MessageLite> part, OnPart on_part, OnEnd on_end);
  // Cancels it, if it has not ended.
  void Drop(uint64_t key);
  bool empty() const;

  // One answer.
  template <typename Answer>
  void Ask(const std::string& path, int deadline_ms, const google::protobuf::MessageLite& request,
           std::function<void(const Status&, const Answer&)> done) {
    auto answer = std::make_shared<Answer>();
    Open(
        path, deadline_ms, request, std::make_unique<Answer>(),
        [answer](const auto& part) { *answer = static_cast<const Answer&>(part); },
        [answer, done = std::move(done)](const Status& status) { done(status, *answer); });
  }

 private:
  struct State;
  const std::shared_ptr<State> state_;
};

}  // namespace odyssey::mcp

#endif  // ODYSSEY_MCP_AGENT_AGENT_CALLS_H_
