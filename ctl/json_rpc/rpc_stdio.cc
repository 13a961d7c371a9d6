#include "ctl/json_rpc/rpc_stdio.h"

#include <errno.h>
#include <unistd.h>

namespace odyssey::ctl {

bool RpcStdio::Read() {
  char bytes[65536];
  const ssize_t n = read(STDIN_FILENO, bytes, sizeof(bytes));
  if (n < 0) return errno == EINTR || errno == EAGAIN;
  lines_.Feed({bytes, static_cast<size_t>(n)});
  return n > 0;
}

std::optional<RpcMessage> RpcStdio::Next() {
  while (const std::optional<std::string> line = lines_.Next()) {
    RpcMessage message = ParseRpcMessage(*line);
    const auto* invalid = std::get_if<RpcInvalid>(&message);
    if (invalid == nullptr) return message;
    Answer(invalid->id, invalid->error);
  }
  return std::nullopt;
}

void RpcStdio::Answer(const Json& id, const std::variant<Json, RpcError>& answer) const {
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
