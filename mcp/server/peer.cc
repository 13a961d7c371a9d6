#include "mcp/server/peer.h"

#include <utility>
#include <vector>

namespace odyssey::mcp {

std::variant<Json, RpcError> Peer::Initialize(const Json& params) {
  const auto version = params.find("protocolVersion");
  if (version == params.end() || !version->is_string()) {
    return RpcError{RpcCode::kInvalidParams, "protocolVersion: expected a string"};
  }
  const Json capabilities = params.value("capabilities", Json());
  capabilities_ = capabilities.is_object() ? capabilities : Json::object();
  version_ = ChooseVersion(version->get<std::string>());
  return InitializeResult(facts_, version_);
}

void Peer::OnRequest(const RpcRequest& request, std::shared_ptr<Sink> sink) {
  const auto call = std::make_shared<Call>(facts_, request, ClientFacts{false, capabilities_},
                                           std::move(sink), weak_from_this());
  calls_[call.get()] = call;
  if (request.method == "ping") return call->Answer(Json::object());
  scope_->Handle(call);
}

void Peer::OnNotification(const RpcNotification& notification) {
  if (notification.method != "notifications/cancelled") return;
  const Json id = notification.params.value("requestId", Json());
  std::vector<std::shared_ptr<Call>> cancelled;
  for (const auto& [key, call] : calls_) {
    if (call->request().id == id) cancelled.push_back(call);
  }
  for (const std::shared_ptr<Call>& call : cancelled) {
    call->Cancel();
    Forget(call.get());
  }
}

void Peer::OnResponse(const RpcResponse& response) {
  if (!response.id.is_string()) return;
  const auto found = asked_.find(response.id.get<std::string>());
  if (found == asked_.end()) return;
  const Asked asked = std::move(found->second);
  asked_.erase(found);
  if (!asked.call->ended()) asked.on_answer(response);
}

void Peer::CancelAll() {
  asked_.clear();
  for (const auto& [key, call] : std::exchange(calls_, {})) call->Cancel();
}

std::string Peer::Expect(std::shared_ptr<Call> call,
                         std::function<void(const RpcResponse&)> on_answer) {
  std::string id = "odyssey-" + std::to_string(++last_asked_);
  asked_[id] = {std::move(call), std::move(on_answer)};
  return id;
}

void Peer::Forget(const Call* call) {
  std::erase_if(asked_, [call](const auto& each) { return each.second.call.get() == call; });
  calls_.erase(call);
}

}  // namespace odyssey::mcp
