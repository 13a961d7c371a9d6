#ifndef ODYSSEY_HTTP_FRONT_MCP_HOST_H_
#define ODYSSEY_HTTP_FRONT_MCP_HOST_H_

// What outlives a request of the Model Context Protocol by HTTP: sessions of the stateful era, and
// one scope for each caller of the stateless one. Each ends after a time without requests. Of the
// loop's thread alone.

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <string>

#include "mcp/server/call.h"
#include "mcp/server/peer.h"

namespace odyssey::front {

class McpExchange;

struct McpLimits {
  std::chrono::seconds idle{30 * 60};
  // Sessions and scopes of one token; further ones are refused.
  size_t of_token = 16;
  // Of messages that a session keeps for clients that come back.
  size_t kept_bytes = 1024 * 1024;
  size_t kept_streams = 16;
};

// The messages that belong to one request, which may outlive its connection.
class McpStream final : public mcp::Sink {
 public:
  // `id`: of the session's streams, from 1; 0: the client cannot come back to it. `primed`: it
  // begins with an event that has an id alone, which clients of 2025-11-25 expect.
  McpStream(uint64_t id, bool primed) : id_(id), primed_(primed) {}

  void Send(std::string message, mcp::Delivery delivery) override;
  void Finish(std::string answer, unsigned status) override;
  void Abandon() override;

  // The exchange that writes it.
  void Attach(McpExchange* exchange);
  // In place of another one: its answer is a stream, which begins with the events after `after`.
  void AttachAgain(McpExchange* exchange, uint64_t after);
  void Detach(const McpExchange* exchange);
  bool attached() const { return exchange_ != nullptr; }
  bool finished() const { return finished_; }
  size_t kept_bytes() const { return kept_bytes_; }
  // From now on the answer is a stream.
  void Begin();

 private:
  struct Event {
    uint64_t number = 0;
    std::string frame;
    mcp::Delivery delivery = mcp::Delivery::kAlways;
  };
  void Add(const std::string& message, mcp::Delivery delivery);

  const uint64_t id_;
  const bool primed_;
  McpExchange* exchange_ = nullptr;
  bool begun_ = false, finished_ = false;
  uint64_t last_ = 0;
  std::deque<Event> kept_;
  size_t kept_bytes_ = 0;
};

// Ends itself when it was idle; kept alive by its pending timer.
class McpSession final : public std::enable_shared_from_this<McpSession> {
 public:
  McpSession(class McpHost* host, std::string id, mcp::Caller caller);

  const std::string& id() const { return id_; }
  const mcp::Caller& caller() const { return caller_; }
  mcp::Scope* scope() { return scope_.get(); }
  mcp::Peer* peer() { return peer_.get(); }

  // A request has come. Until Leave it does not end.
  void Enter();
  void Leave();
  std::shared_ptr<McpStream> NewStream();
  // null: there is none, or no longer.
  std::shared_ptr<McpStream> FindStream(uint64_t id);
  // The stream of what belongs to no request.
  const std::shared_ptr<McpStream>& own_stream() const { return own_stream_; }
  void Close();

 private:
  void ArmIdle();

  McpHost* const host_;
  const std::string id_;
  const mcp::Caller caller_;
  const std::shared_ptr<mcp::Scope> scope_;
  const std::shared_ptr<mcp::Peer> peer_;  // not used in the stateless era
  const std::shared_ptr<McpStream> own_stream_;
  std::map<uint64_t, std::shared_ptr<McpStream>> streams_;
  uint64_t last_stream_ = 0;
  size_t entered_ = 0;
  boost::asio::steady_timer idle_;
};

class McpHost final {
 public:
  // `service` outlives it.
  McpHost(boost::asio::io_context* loop, mcp::Service* service, std::string bundle,
          McpLimits limits);
  ~McpHost();

  boost::asio::io_context* loop() { return loop_; }
  mcp::Service* service() { return service_; }
  // Of requests whose path names none; empty: they are refused.
  const std::string& bundle() const { return bundle_; }
  const McpLimits& limits() const { return limits_; }

  // null: the token has as many as it may.
  std::shared_ptr<McpSession> NewSession(const mcp::Caller& caller);
  // null: there is none of this id and token.
  std::shared_ptr<McpSession> FindSession(const std::string& id, const std::string& token);
  // Of the stateless era. null: the token has as many as it may.
  std::shared_ptr<McpSession> ScopeOf(const mcp::Caller& caller);
  void Remove(McpSession* session);
  // Ends all of them.
  void CloseAll();

 private:
  bool MayAdd(const std::string& token) const;

  boost::asio::io_context* const loop_;
  mcp::Service* const service_;
  const std::string bundle_;
  const McpLimits limits_;
  std::map<std::string, std::shared_ptr<McpSession>> sessions_;  // by id
  std::map<mcp::Caller, std::shared_ptr<McpSession>> scopes_;
};

}  // namespace odyssey::front

#endif  // ODYSSEY_HTTP_FRONT_MCP_HOST_H_
