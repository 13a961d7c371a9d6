// Cuts any bytes into lines, whatever the pieces in which they come, and reads each as a message:
// what is one is written as it was read.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "common/json_rpc/json_rpc.h"

namespace odyssey {
namespace {

void Check(const RpcMessage& message) {
  const auto* request = std::get_if<RpcRequest>(&message);
  if (request == nullptr) return;
  const std::string line = FormatRpcRequest(request->id, request->method, request->params);
  if (line.find('\n') != line.size() - 1) abort();
  const RpcMessage again = ParseRpcMessage(line);
  const auto* same = std::get_if<RpcRequest>(&again);
  if (same == nullptr || same->method != request->method || same->id != request->id) abort();
}

}  // namespace
}  // namespace odyssey

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const size_t piece = size_t{1} + data[0];
  std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  odyssey::RpcLines lines;
  while (!bytes.empty()) {
    lines.Feed(bytes.substr(0, piece));
    bytes.remove_prefix(std::min(piece, bytes.size()));
    while (const auto line = lines.Next()) odyssey::Check(odyssey::ParseRpcMessage(*line));
  }
  return 0;
}
