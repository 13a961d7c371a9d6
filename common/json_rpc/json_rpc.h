#ifndef ODYSSEY_COMMON_JSON_RPC_JSON_RPC_H_
#define ODYSSEY_COMMON_JSON_RPC_JSON_RPC_H_

// JSON-RPC 2.0, one message a line or a body. Pure.

#include <nlohmann/json.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace odyssey {

using Json = nlohmann::ordered_json;

enum class RpcCode : int {
  kParseError = -32700,
  kInvalidRequest = -32600,
  kMethodNotFound = -32601,
  kInvalidParams = -32602,
  kInternalError = -32603,
  kResourceNotFound = -32002,  // of the Agent Client Protocol
  // Of the Model Context Protocol.
  kHeaderMismatch = -32020,
  kMissingCapability = -32021,
  kUnsupportedVersion = -32022,
};

struct RpcError {
  RpcCode code = RpcCode::kInternalError;
  std::string message;
  Json data = {};  // null: none
};

struct RpcRequest {
  Json id;  // a string, an integer or null
  std::string method;
  Json params;  // an object
};
struct RpcNotification {
  std::string method;
  Json params;  // an object
};
struct RpcResponse {
  Json id;
  Json result;                    // null where there is an error
  std::optional<RpcError> error;  // its code is kInternalError if it is not one of RpcCode
};
// What is no message, and what to answer with the id that could be read.
struct RpcInvalid {
  Json id;
  RpcError error;
};
using RpcMessage = std::variant<RpcRequest, RpcNotification, RpcResponse, RpcInvalid>;

// Deepest nesting of a message: what copies and prints a value takes stack for each level.
inline constexpr int kMaxRpcDepth = 100;

RpcMessage ParseRpcMessage(std::string_view line);

// A whole line each, with its line feed, in ASCII.
std::string FormatRpcRequest(const Json& id, std::string_view method, const Json& params);
std::string FormatRpcNotification(std::string_view method, const Json& params);
std::string FormatRpcResult(const Json& id, const Json& result);
std::string FormatRpcError(const Json& id, const RpcError& error);

// Bytes of a stream, as lines.
class RpcLines final {
 public:
  // Of one message: agentd takes 16 MiB.
  static constexpr size_t kMaxLine = size_t{16} * 1024 * 1024;

  void Feed(std::string_view bytes);
  // The next line, without its line feed; blank ones are left out. Of a line of more than kMaxLine
  // bytes there is the beginning, which is not JSON.
  std::optional<std::string> Next();

 private:
  std::string pending_;
  size_t searched_ = 0;    // of pending_: there is no line feed in it
  bool skipping_ = false;  // the rest of a line that was too long
};

}  // namespace odyssey

#endif  // ODYSSEY_COMMON_JSON_RPC_JSON_RPC_H_
