// Root decodes what rpc sends, and rpc what root sends: every message of root_wire.h, and the plan
// inside a Launch.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/base/status.h"
#include "policy/plan/plan.h"
#include "supervisor/wire/root_wire.h"

namespace {

template <typename Message>
void RoundTrip(std::string_view bytes) {
  Message message;
  if (!odyssey::wire::Decode(bytes, &message).ok()) return;
  Message again;
  ODY_CHECK(odyssey::wire::Decode(odyssey::wire::Encode(message), &again).ok());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (!odyssey::wire::TypeOf(bytes).ok()) return 0;

  RoundTrip<odyssey::wire::Hello>(bytes);
  RoundTrip<odyssey::wire::Launched>(bytes);
  RoundTrip<odyssey::wire::Kill>(bytes);
  RoundTrip<odyssey::wire::Gone>(bytes);
  RoundTrip<odyssey::wire::Stats>(bytes);
  RoundTrip<odyssey::wire::StatsReply>(bytes);

  odyssey::wire::Launch launch;
  if (!odyssey::wire::Decode(bytes, &launch).ok()) return 0;
  auto plan = odyssey::plan::DecodePlan(launch.plan);
  ODY_CHECK(plan.ok() || !plan.status().message().empty());
  return 0;
}
