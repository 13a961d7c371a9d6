#ifndef ODYSSEY_CTL_JSON_RPC_RPC_STDIO_H_
#define ODYSSEY_CTL_JSON_RPC_RPC_STDIO_H_

#include <optional>
#include <string>
#include <string_view>

#include "ctl/base/console.h"
#include "ctl/json_rpc/json_rpc.h"

namespace odyssey::ctl {

// A peer at the other end of stdin and stdout. Reading waits for nothing once stdin is readable;
// sending waits until it is written.
class RpcStdio final {
 public:
  explicit RpcStdio(const Console& console) : console_(console) {}

  // Reads what has come. False: stdin has ended.
  bool Read();
  // The next message that has come. What is no message is answered here.
  std::optional<RpcMessage> Next();

  void Answer(const Json& id, const std::variant<Json, RpcError>& answer) const;
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
