#ifndef ODYSSEY_MCP_PROTOCOL_REQUEST_STATE_H_
#define ODYSSEY_MCP_PROTOCOL_REQUEST_STATE_H_

// State that a client carries between two requests (requestState), so that the server keeps none.
//
//   * A client reads it, and cannot change or make it: it has an HMAC-SHA256 with a key of this
//     process.
//   * It is of one purpose, for example a caller and its call: another one does not open it.
//   * It expires, and it is spent once.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "common/base/status.h"
#include "common/json_rpc/json_rpc.h"

namespace odyssey::mcp {

class RequestStates final {
 public:
  // `key`: random bytes.
  explicit RequestStates(std::string key);
  ~RequestStates();
  RequestStates(const RequestStates&) = delete;
  RequestStates& operator=(const RequestStates&) = delete;

  std::string Seal(std::string_view purpose, const Json& content, uint64_t expires_at_ms) const;

  // What was sealed, for as long as it is not spent. INVALID_ARGUMENT: it is not of this server and
  // purpose, or was changed. FAILED_PRECONDITION: it has expired, or was spent.
  Result<Json> Open(std::string_view purpose, const std::string& state, uint64_t now_ms);
  // Open refuses it from now on.
  void Spend(const std::string& state);

 private:
  std::string Mac(std::string_view purpose, std::string_view text) const;

  std::string key_;
  std::map<std::string, uint64_t> spent_;  // by MAC, with when it expires
};

}  // namespace odyssey::mcp

#endif  // ODYSSEY_MCP_PROTOCOL_REQUEST_STATE_H_
