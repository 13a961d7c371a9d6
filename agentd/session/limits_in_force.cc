#include "agentd/session/limits_in_force.h"

#include "policy/ceiling/check.h"
#include "policy/dialect/ceiling_directory.h"
#include "policy/model/default_limits.h"

namespace odyssey::session {

Status FillLimits(const Runtime& runtime, policy::SandboxRequest* request) {
  ODY_ASSIGN_OR_RETURN(const auto current, runtime.ceiling->Get());
  ceiling::FillLimits(current->ceiling, request->ephemeral, &request->limits);
  request->unsaid_limits = policy::UnsaidLimits(*request);
  request->limits = policy::WithDefaults(request->limits);
  return OkStatus();
}

Status FillLimits(const Runtime& runtime, TurnSetup* setup) {
  ODY_ASSIGN_OR_RETURN(const auto current, runtime.ceiling->Get());
  setup->cell.request.limits.wall_clock_ms =
      ceiling::WallClockWithin(current->ceiling, setup->wall_clock_ms);
  return FillLimits(runtime, &setup->cell.request);
}

}  // namespace odyssey::session
