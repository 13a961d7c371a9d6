// rpc decodes the answers of odyssey-cell-layer, which reads tars and programs of strangers and is
// not trusted.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/base/status.h"
#include "policy/executables/found_encoding.h"
#include "supervisor/wire/layer_wire.h"

namespace {

template <typename Message>
void RoundTrip(std::string_view bytes) {
  Message message;
  if (!odyssey::layer::Decode(bytes, &message).ok()) return;
  Message again;
  ODY_CHECK(odyssey::layer::Decode(odyssey::layer::Encode(message), &again).ok());
  ODY_CHECK(odyssey::layer::Encode(again) == odyssey::layer::Encode(message));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  RoundTrip<odyssey::layer::Order>(bytes);
  RoundTrip<odyssey::layer::Done>(bytes);
  const auto found = odyssey::executables::DecodeFound(bytes);
  if (found.ok()) ODY_CHECK(odyssey::executables::EncodeFound(*found) == bytes);
  return 0;
}
