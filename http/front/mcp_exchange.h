#ifndef ODYSSEY_HTTP_FRONT_MCP_EXCHANGE_H_
#define ODYSSEY_HTTP_FRONT_MCP_EXCHANGE_H_

// One request of the Model Context Protocol (streamable HTTP): POST has a message; GET follows what
// the server sends, or comes back to a stream; DELETE ends a session.

#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>
#include <string>

#include "common/json_rpc/json_rpc.h"
#include "http/front/exchange.h"
#include "http/front/mcp_host.h"

namespace odyssey::front {

class McpExchange final : public Exchange {
 public:
  McpExchange(Request request, Backend* backend, Responder* responder);
  // In the stateless era a client that goes cancels its call.
  ~McpExchange() override;

  void Start() override;

  // Of McpStream.
  void BeginEvents();
  void WriteFrame(const std::string& frame);
  void EndEvents();
  size_t pending_bytes() const { return responder_->pending_bytes(); }
  void ReplyAlone(unsigned status, std::string answer);

 private:
  void OnProgress() override {}
  void OnPost(RpcMessage message);
  void OnStateless(const RpcRequest& request);
  void OnInitialize(const RpcRequest& request);
  void OnStateful(const RpcMessage& message);
  void OnGet();
  void OnDelete();

  // Of the path and the query. False: the answer is what is wrong.
  bool FillCaller();
  // The session that the request names. False: the answer is that there is none.
  bool EnterSession();
  void Refuse(unsigned status, const Json& id, RpcCode code, const std::string& why);
  // `after`: of a client that comes back, or follows: the last event it has.
  void Attach(std::shared_ptr<McpStream> stream, std::optional<uint64_t> after = std::nullopt);
  void Tick();

  mcp::Caller caller_;
  std::shared_ptr<McpSession> session_;
  std::shared_ptr<McpStream> stream_;
  std::shared_ptr<mcp::Call> call_;  // of the stateless era
  boost::asio::steady_timer timer_;
  bool events_ = false, over_ = false;
};

}  // namespace odyssey::front

#endif  // ODYSSEY_HTTP_FRONT_MCP_EXCHANGE_H_
