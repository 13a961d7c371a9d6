// Root decodes and checks plans whose bytes rpc sent: whatever they are, no crash, no excess
// memory, and what is accepted means the same after another trip.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/base/status.h"
#include "policy/plan/plan.h"
#include "policy/plan/plan_check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  auto plan = odyssey::plan::DecodePlan(bytes);
  if (!plan.ok()) return 0;

  auto again = odyssey::plan::DecodePlan(odyssey::plan::EncodePlan(*plan));
  ODY_CHECK(again.ok());
  ODY_CHECK(*again == *plan);

  const odyssey::plan::CheckContext context = {
      .own_directories = {"/var/lib/odyssey", "/run/odyssey"},
      .bundle_store = "/var/lib/odyssey/agentd/bundles",
      .max_memory_bytes = uint64_t{1} << 34,
      .max_pids = 4096,
  };
  const odyssey::Status verdict = odyssey::plan::CheckPlan(*plan, context);
  ODY_CHECK(verdict.ok() || !verdict.message().empty());
  return 0;
}
