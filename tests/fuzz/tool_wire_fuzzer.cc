// rpc decodes the answers of the file worker, which runs inside a cell and is not trusted.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/base/status.h"
#include "supervisor/wire/tool_wire.h"

namespace {

template <typename Message>
void RoundTrip(std::string_view bytes) {
  Message message;
  if (!odyssey::tool::Decode(bytes, &message).ok()) return;
  Message again;
  ODY_CHECK(odyssey::tool::Decode(odyssey::tool::Encode(message), &again).ok());
  ODY_CHECK(again == message);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  RoundTrip<odyssey::tool::Request>(bytes);
  RoundTrip<odyssey::tool::Response>(bytes);
  return 0;
}
