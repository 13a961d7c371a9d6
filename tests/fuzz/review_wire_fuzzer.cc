// rpc decodes the answers of odyssey-cell-review, which runs in a cell and is not trusted.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/base/status.h"
#include "supervisor/wire/review_wire.h"

namespace {

using odyssey::review::Decode;
using odyssey::review::Encode;

template <typename Message>
void RoundTrip(std::string_view bytes) {
  Message message;
  if (!Decode(bytes, &message).ok()) return;
  Message again;
  ODY_CHECK(Decode(Encode(message), &again).ok());
  ODY_CHECK(again == message);
}

void RoundTripAnswer(std::string_view bytes) {
  bool ended = false;
  odyssey::review::Item item;
  odyssey::review::End end;
  if (!Decode(bytes, &ended, &item, &end).ok()) return;
  const std::string encoded = ended ? Encode(end) : Encode(item);
  odyssey::review::Item item_again;
  odyssey::review::End end_again;
  bool ended_again = false;
  ODY_CHECK(Decode(encoded, &ended_again, &item_again, &end_again).ok());
  ODY_CHECK(ended_again == ended && (ended ? end_again == end : item_again == item));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  RoundTrip<odyssey::review::Setup>(bytes);
  RoundTrip<odyssey::review::Request>(bytes);
  RoundTripAnswer(bytes);
  return 0;
}
