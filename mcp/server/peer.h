#ifndef ODYSSEY_MCP_SERVER_PEER_H_
#define ODYSSEY_MCP_SERVER_PEER_H_

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "common/json_rpc/json_rpc.h"
#include "mcp/server/call.h"

namespace odyssey::mcp {

// A client of the stateful era, from initialize on. Of one thread.
class Peer final : public std::enable_shared_from_this<Peer> {
 public:
  // Both outlive it.
  Peer(const ServerFacts& facts, Scope* scope) : facts_(facts), scope_(scope) {}

  // The answer to initialize, which may come again.
  std::variant<Json, RpcError> Initialize(const Json& params);
  bool initialized() const { return !version_.empty(); }
  const std::string& version() const { return version_; }

  // A request, whose call is answered by `sink`.
  void OnRequest(const RpcRequest& request, std::shared_ptr<Sink> sink);
  void OnNotification(const RpcNotification& notification);
  void OnResponse(const RpcResponse& response);

  void CancelAll();

  // Of Call: the id of a request of ours, whose answer `on_answer` gets while `call` runs.
  std::string Expect(std::shared_ptr<Call> call, std::function<void(const RpcResponse&)> on_answer);
  // It has ended.
  void Forget(const Call* call);

 private:
  struct Asked {
    std::shared_ptr<Call> call;
    std::function<void(const RpcResponse&)> on_answer;
  };

  const ServerFacts& facts_;
  Scope* const scope_;
  std::string version_;  // empty: before initialize
  Json capabilities_ = Json::object();
  std::map<const Call*, std::shared_ptr<Call>> calls_;
  std::map<std::string, Asked> asked_;  // by our request's id
  uint64_t last_asked_ = 0;
};

}  // namespace odyssey::mcp

#endif  // ODYSSEY_MCP_SERVER_PEER_H_
