// rpc decodes what comes out of a cell, and a cell what rpc sends: every message of cell_wire.h.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/base/status.h"
#include "supervisor/wire/cell_wire.h"

namespace {

// What decodes must encode to bytes that decode again.
template <typename Message>
void RoundTrip(std::string_view bytes) {
  Message message;
  if (!odyssey::cell::Decode(bytes, &message).ok()) return;
  Message again;
  ODY_CHECK(odyssey::cell::Decode(odyssey::cell::Encode(message), &again).ok());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (!odyssey::cell::TypeOf(bytes).ok()) return 0;

  RoundTrip<odyssey::cell::Hello>(bytes);
  RoundTrip<odyssey::cell::Configure>(bytes);
  RoundTrip<odyssey::cell::Unmapped>(bytes);
  RoundTrip<odyssey::cell::SlotReady>(bytes);
  RoundTrip<odyssey::cell::SlotGone>(bytes);
  RoundTrip<odyssey::cell::CellError>(bytes);
  RoundTrip<odyssey::cell::ExecSpec>(bytes);
  RoundTrip<odyssey::cell::ExecError>(bytes);
  RoundTrip<odyssey::cell::SignalSlot>(bytes);
  RoundTrip<odyssey::cell::ExecExited>(bytes);
  RoundTrip<odyssey::cell::OpenEgress>(bytes);
  RoundTrip<odyssey::cell::EgressWay>(bytes);
  RoundTrip<odyssey::cell::Identity>(bytes);
  return 0;
}
