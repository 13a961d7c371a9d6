#include "supervisor/rpc/ceiling_gate.h"

#include <optional>
#include <utility>

#include "common/base/refusal.h"
#include "policy/ceiling/ownership.h"
#include "policy/model/default_limits.h"

namespace odyssey::supervisor {
CeilingGate::CeilingGate(std::string directory, plan::CheckContext host)
    : files_(std::move(directory)), host_(std::move(host)) {}

Result<CeilingGate::InForcePtr> CeilingGate::Current() {
  Result<InForcePtr> current = files_.Get();
  if (current.ok()) return current;
  return FailedPrecondition("the operator's ceiling cannot be used, so no cell is: " +
                            current.status().message());
}

Status CeilingGate::Check() { return Current().status(); }

Result<Admission> CeilingGate::Admit(policy::SandboxRequest request, uint32_t owner_uid,
                                     bool allow_danger) {
  ODY_ASSIGN_OR_RETURN(const InForcePtr current, Current());
  if (policy::IsDanger(request) && !allow_danger) {
    return WithHint(
        kHintDanger,
        Refused(Code::kPermissionDenied, "mode", "danger_full_access",
                "the person for whom it is must say that it is meant (allow_danger), besides the "
                "operator's grant; read_only or workspace_write is allowed"));
  }
  Admission admission = {std::move(request), dialect::OwnerOf(owner_uid), current->digest, {}};
  ODY_ASSIGN_OR_RETURN(
      admission.outright,
      ceiling::GrantedOutright(current->ceiling, admission.request, {admission.owner, host_}));
  ceiling::FillLimits(current->ceiling, admission.request.ephemeral, &admission.request.limits);
  return admission;
}

Result<answer::Under> CeilingGate::UnderFor(uint32_t owner_uid) {
  ODY_ASSIGN_OR_RETURN(const InForcePtr current, Current());
  return answer::Under{files_.directory(), current->ceiling, {dialect::OwnerOf(owner_uid), host_}};
}

void CeilingGate::SetOwners(const Admission& admission, plan::Plan* plan) const {
  ceiling::SetOwners({admission.owner, host_}, admission.outright, plan);
}

Status CeilingGate::StillAllows(Admission* admission, uint32_t wall_clock_ms) {
  ODY_ASSIGN_OR_RETURN(const InForcePtr current, Current());
  ODY_RETURN_IF_ERROR(
      ceiling::CheckLimits(current->ceiling, "start.", {.wall_clock_ms = wall_clock_ms}));
  if (admission->digest == current->digest) return OkStatus();
  ODY_ASSIGN_OR_RETURN(
      const std::set<std::string> outright,
      ceiling::GrantedOutright(current->ceiling, admission->request, {admission->owner, host_}));
  for (const std::string& path : admission->outright) {
    if (outright.count(path) != 0) continue;
    return WithHint(
        kHintCeiling,
        Refused(Code::kPermissionDenied, "mounts", path,
                "the operator's ceiling grants it no longer to users who do not own it; a new cell "
                "shows it to its owner"));
  }
  admission->digest = current->digest;
  return OkStatus();
}

Result<uint32_t> CeilingGate::WallClockWithin(uint32_t wanted) {
  ODY_ASSIGN_OR_RETURN(const InForcePtr current, Current());
  return ceiling::WallClockWithin(current->ceiling, wanted);
}

Result<ceiling::Images> CeilingGate::Images() {
  ODY_ASSIGN_OR_RETURN(const InForcePtr current, Current());
  return current->ceiling.images;
}

policy::Limits CeilingGate::DefaultLimits() {
  policy::Limits limits;
  const Result<InForcePtr> current = Current();
  if (current.ok()) ceiling::FillLimits((*current)->ceiling, /*ephemeral=*/false, &limits);
  return policy::WithDefaults(limits);
}

Feature CeilingGate::Describe() {
  const Result<InForcePtr> current = Current();
  if (!current.ok()) return {"operator_policy", false, current.status().message()};
  const std::optional<size_t>& count = (*current)->count;
  const std::string source =
      count ? std::to_string(*count) + (*count == 1 ? " file" : " files") + " in "
            : "built in, since there is no ";
  const bool both = count && (*current)->ceiling.keeps_built_in;
  return {"operator_policy", true,
          source + files_.directory() + (both ? ", beside the built-in grants" : "") + ", sha256 " +
              (*current)->digest};
}

}  // namespace odyssey::supervisor
