#include "ctl/json_rpc/rpc_stdio.h"

#include <errno.h>
#include <unistd.h>

namespace odyssey::ctl {

RpcError ErrorOf(const Failure& failure, RpcCode code) {
  return {code,
          failure.what + ": " + failure.why + (failure.next.empty() ? "" : " " + failure.next)};
}

bool RpcStdio::Read() {
  char bytes[65536];
  const ssize_t n = read(STDIN_FILENO, bytes, sizeof(bytes));
  if (n < 0) return errno == EINTR || errno == EAGAIN;
  lines_.Feed({bytes, static_cast<size_t>(n)});
  return n > 0;
}

void RpcStdio::Deliver(const RpcHandlers& handlers) {
  while (const std::optional<std::string> line = lines_.Next()) {
    const RpcMessage message = ParseRpcMessage(*line);
    if (const auto* request = std::get_if<RpcRequest>(&message)) {
      const std::optional<RpcAnswer> answer = handlers.on_request(*request);
      if (answer) Answer(request->id, *answer);
    } else if (const auto* response = std::get_if<RpcResponse>(&message)) {
      handlers.on_response(*response);
    } else if (const auto* notification = std::get_if<RpcNotification>(&message)) {
      handlers.on_notification(*notification);
    } else {
      const auto& invalid = std::get<RpcInvalid>(message);
      Answer(invalid.id, invalid.error);
    }
  }
}

void RpcStdio::Answer(const Json& id, const RpcAnswer& answer) const {
  const auto* error = std::get_if<RpcError>(&answer);
  console_.Print(error != nullptr ? FormatRpcError(id, *error)
                                  : FormatRpcResult(id, std::get<Json>(answer)));
}

void RpcStdio::Notify(std::string_view method, const Json& params) const {
  console_.Print(FormatRpcNotification(method, params));
}

std::string RpcStdio::Ask(std::string_view method, const Json& params) {
  std::string id = "odyssey-" + std::to_string(++asked_);
  console_.Print(FormatRpcRequest(id, method, params));
  return id;
}

}  // namespace odyssey::ctl
