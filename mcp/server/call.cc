#include "mcp/server/call.h"

#include <utility>

#include "mcp/server/peer.h"

namespace odyssey::mcp {
namespace {

constexpr unsigned kOk = 200, kUnauthorized = 401, kTooMany = 429, kUnavailable = 503;

unsigned HttpStatusOf(Code code) {
  switch (code) {
    case Code::kUnauthenticated:
      return kUnauthorized;
    case Code::kResourceExhausted:
      return kTooMany;
    case Code::kUnavailable:
      return kUnavailable;
    default:
      return kOk;
  }
}

// A call that stays open: notifications of the kinds that the client asks for and the server has.
// It ends with its client; no result comes.
void Listen(const ServerFacts& facts, const std::shared_ptr<Call>& call) {
  Json kinds = Json::object();
  const Json asked = call->request().params.value("notifications", Json());
  if (!asked.is_object()) {
    return call->Fail(RpcError{RpcCode::kInvalidParams, "notifications: expected an object"});
  }
  constexpr std::pair<const char*, const char*> kKinds[] = {{"toolsListChanged", "tools"},
                                                            {"promptsListChanged", "prompts"},
                                                            {"resourcesListChanged", "resources"}};
  for (const auto& [kind, capability] : kKinds) {
    const Json has = facts.capabilities.value(capability, Json::object());
    if (asked.value(kind, Json()) == true && has.value("listChanged", Json()) == true) {
      kinds[kind] = true;
    }
  }
  call->Notify(
      "notifications/subscriptions/acknowledged",
      {{"_meta", {{kMetaSubscription, call->request().id}}}, {"notifications", std::move(kinds)}});
}

}  // namespace

Call::Call(const ServerFacts& facts, RpcRequest request, ClientFacts client,
           std::shared_ptr<Sink> sink, std::weak_ptr<Peer> peer)
    : facts_(facts),
      request_(std::move(request)),
      client_(std::move(client)),
      sink_(std::move(sink)),
      peer_(std::move(peer)) {}

void Call::Answer(Json result) {
  if (client_.stateless) result = StatelessResult(facts_, request_.method, std::move(result));
  End(FormatRpcResult(request_.id, result), kOk);
}

void Call::Fail(const RpcError& error) {
  // Of the stateful era a request that was read is answered with 200, whatever the answer is.
  End(FormatRpcError(request_.id, error), client_.stateless ? HttpStatusOf(error.code) : kOk);
}

void Call::Fail(const Status& status) {
  const bool invalid = status.code() == Code::kInvalidArgument ||
                       status.code() == Code::kFailedPrecondition ||
                       status.code() == Code::kPermissionDenied || status.code() == Code::kNotFound;
  const RpcError error = {invalid ? RpcCode::kInvalidParams : RpcCode::kInternalError,
                          status.message()};
  End(FormatRpcError(request_.id, error), HttpStatusOf(status.code()));
}

void Call::Notify(std::string_view method, const Json& params, Delivery delivery) {
  if (!ended_) sink_->Send(FormatRpcNotification(method, params), delivery);
}

void Call::Ask(std::string_view method, const Json& params,
               std::function<void(const RpcResponse&)> on_answer) {
  const std::shared_ptr<Peer> peer = peer_.lock();
  if (ended_ || !peer) return;
  sink_->Send(
      FormatRpcRequest(peer->Expect(shared_from_this(), std::move(on_answer)), method, params),
      Delivery::kAlways);
}

void Call::Cancel() {
  if (std::exchange(ended_, true)) return;
  std::exchange(sink_, nullptr)->Abandon();
  if (const auto on_cancel = std::exchange(on_cancel_, nullptr)) on_cancel();
}

void Call::End(const std::string& answer, unsigned status) {
  if (std::exchange(ended_, true)) return;
  on_cancel_ = nullptr;
  if (const std::shared_ptr<Peer> peer = peer_.lock()) peer->Forget(this);
  std::exchange(sink_, nullptr)->Finish(answer, status);
}

std::shared_ptr<Call> HandleStateless(const ServerFacts& facts, RpcRequest request,
                                      const RoutingFields* fields, std::shared_ptr<Sink> sink,
                                      const std::function<Scope*()>& scope) {
  const std::optional<RpcError> error = CheckStateless(request, fields);
  ClientFacts client = {true, MetaOf(request.params).value(kMetaCapabilities, Json::object())};
  const auto call = std::make_shared<Call>(facts, std::move(request), std::move(client),
                                           std::move(sink), std::weak_ptr<Peer>());
  const std::string& method = call->request().method;
  if (error) {
    call->Fail(*error);
  } else if (method == "server/discover") {
    call->Answer(DiscoverResult(facts));
  } else if (method == "subscriptions/listen") {
    Listen(facts, call);
  } else if (Scope* const found = scope()) {
    found->Handle(call);
  } else {
    call->Fail(ResourceExhausted("this token has as many sessions as it may; close some"));
  }
  return call;
}

}  // namespace odyssey::mcp
