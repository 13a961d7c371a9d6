#ifndef ODYSSEY_MCP_SERVER_CALL_H_
#define ODYSSEY_MCP_SERVER_CALL_H_

// What a server of the Model Context Protocol serves, whichever transport and era a client has.
// Of one thread.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>

#include "common/base/status.h"
#include "common/json_rpc/json_rpc.h"
#include "mcp/protocol/protocol.h"

namespace odyssey::mcp {

// Whether a client that is slow may miss a message.
enum class Delivery { kAlways, kIfTaken };

// Where what belongs to one request goes: a stream of messages, each a line, of which the answer is
// the last.
class Sink {
 public:
  virtual ~Sink() = default;
  virtual void Send(std::string message, Delivery delivery) = 0;
  // `status`: of an answer by HTTP that is this message alone.
  virtual void Finish(std::string answer, unsigned status) = 0;
  // No answer comes: the request was cancelled.
  virtual void Abandon() = 0;
};

// What is known of the client that made a request.
struct ClientFacts {
  bool stateless = false;
  Json capabilities = Json::object();
};

class Peer;

// A request of a client. It is answered once, now or later; what comes after that, or after its
// client has cancelled it, is left out.
class Call final : public std::enable_shared_from_this<Call> {
 public:
  // `peer`: null in the stateless era.
  Call(const ServerFacts& facts, RpcRequest request, ClientFacts client, std::shared_ptr<Sink> sink,
       std::weak_ptr<Peer> peer);

  const RpcRequest& request() const { return request_; }
  bool stateless() const { return client_.stateless; }
  bool ended() const { return ended_; }
  // Whether the client has this capability: "elicitation", …
  bool Has(const std::string& capability) const {
    return client_.capabilities.contains(capability);
  }

  void Answer(Json result);
  void Fail(const RpcError& error);
  // Of a call of agentd.
  void Fail(const Status& status);
  void Notify(std::string_view method, const Json& params, Delivery delivery = Delivery::kAlways);
  // The stateful era alone: a request of the server's, and what is done with the answer to it.
  void Ask(std::string_view method, const Json& params,
           std::function<void(const RpcResponse&)> on_answer);

  // Called once if the client cancels it; it is answered no more then.
  void OnCancel(std::function<void()> on_cancel) { on_cancel_ = std::move(on_cancel); }
  void Cancel();

 private:
  void End(const std::string& answer, unsigned status);

  const ServerFacts& facts_;
  const RpcRequest request_;
  const ClientFacts client_;
  std::shared_ptr<Sink> sink_;
  const std::weak_ptr<Peer> peer_;
  std::function<void()> on_cancel_;
  bool ended_ = false;
};

// Whom a scope works for, and on what.
struct Caller {
  std::string token;        // of HTTP; empty: the process's own user
  std::string bundle, cwd;  // as typed
  bool review = false;
  friend bool operator<(const Caller& a, const Caller& b) {
    return std::tie(a.token, a.bundle, a.cwd, a.review) <
           std::tie(b.token, b.bundle, b.cwd, b.review);
  }
};

// The requests that belong together: a session of the stateful era, or those of one caller in the
// stateless one. Destroying it cancels what runs.
class Scope {
 public:
  virtual ~Scope() = default;
  // Makes what its requests need, where a client should know at once that it cannot be had.
  virtual void Open(std::function<void(const Status&)> on_open) = 0;
  // Every request but those of the protocol itself.
  virtual void Handle(std::shared_ptr<Call> call) = 0;
  // Ends what it has made; the scope is destroyed after it, and handles nothing any more.
  virtual void Close() = 0;
};

class Service {
 public:
  virtual ~Service() = default;
  virtual const ServerFacts& facts() const = 0;
  virtual std::shared_ptr<Scope> NewScope(const Caller& caller) = 0;
  // Called when nothing that scopes have left is still being ended: now, or later.
  virtual void WhenClosed(std::function<void()> closed) = 0;
};

// A request of the stateless era: what is the protocol's own is answered here, the rest by `scope`.
// `fields`: of HTTP. Returns the call, which a client cancels by going.
std::shared_ptr<Call> HandleStateless(const ServerFacts& facts, RpcRequest request,
                                      const RoutingFields* fields, std::shared_ptr<Sink> sink,
                                      const std::function<Scope*()>& scope);

}  // namespace odyssey::mcp

#endif  // ODYSSEY_MCP_SERVER_CALL_H_
