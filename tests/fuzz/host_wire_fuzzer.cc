// The host runner decodes what rpc sends, and rpc what the runner sends: the messages of
// host_wire.h, alone and as the plan inside a Launch. A plan that is accepted has limits and a
// directory to begin in.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/base/status.h"
#include "policy/plan/plan_check.h"
#include "supervisor/wire/host_wire.h"
#include "supervisor/wire/root_wire.h"

namespace {

namespace wire = odyssey::wire;

void TryPlan(std::string_view bytes) {
  wire::HostPlan plan;
  if (!wire::Decode(bytes, &plan).ok()) return;
  ODY_CHECK(plan.memory_bytes != 0 && plan.cpu_millis != 0 && plan.pids != 0);
  ODY_CHECK(odyssey::plan::IsNormalizedAbsolute(plan.workspace) && plan.workspace != "/");
  ODY_CHECK(!plan.cell_id.empty());
  wire::HostPlan again;
  ODY_CHECK(wire::Decode(wire::Encode(plan), &again).ok() && again == plan);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  TryPlan(bytes);
  wire::Launch launch;
  if (wire::Decode(bytes, &launch).ok()) TryPlan(launch.plan);

  wire::HostHello hello, again;
  if (!wire::Decode(bytes, &hello).ok()) return 0;
  ODY_CHECK(wire::Decode(wire::Encode(hello), &again).ok() && again == hello);
  return 0;
}
