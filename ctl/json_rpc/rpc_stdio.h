#ifndef ODYSSEY_CTL_JSON_RPC_RPC_STDIO_H_
#define ODYSSEY_CTL_JSON_RPC_RPC_STDIO_H_

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "common/json_rpc/json_rpc.h"
#include "ctl/base/console.h"

namespace odyssey::ctl {

using RpcAnswer = std::variant<Json, RpcError>;

RpcError ErrorOf(const Failure& failure, RpcCode code = RpcCode::kInternalError);

// What a server does with a message of its peer.
struct RpcHandlers {
  // Nothing: the server answers later.
  std::function<std::optional<RpcAnswer>(const RpcRequest&)> on_request;
  std::function<void(const RpcNotification&)> on_notification;
  std::function<void(const RpcResponse&)> on_response;
};

// A peer at the other end of stdin and stdout. Reading waits for nothing once stdin is readable;
// sending waits until it is written.
class RpcStdio final {
 public:
  explicit RpcStdio(const Console& console) : console_(console) {}

  // Reads what has come. False: stdin has ended.
  bool Read();
  // Gives each message that has come to its handler. What is no message is answered here.
  void Deliver(const RpcHandlers& handlers);

  void Answer(const Json& id, const RpcAnswer& answer) const;
  void Notify(std::string_view method, const Json& params) const;
  // Returns the request's id, which its response has.
  std::string Ask(std::string_view method, const Json& params);

 private:
  const Console& console_;
  RpcLines lines_;
  uint64_t asked_ = 0;
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_JSON_RPC_RPC_STDIO_H_
