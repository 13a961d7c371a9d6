// The broker's part in cells on the host: each has a connection to the host runner of its own,
// which is read on the loop's thread as root is, and ends with it.

#include "supervisor/rpc/broker.h"
#include "supervisor/wire/host_wire.h"

namespace odyssey::supervisor {
namespace {

constexpr unsigned kOnlyPlace = 0;  // the connection has one descriptor in its group

wire::HostPlan HostPlanOf(const compile::Compiled& compiled, const std::string& cell_id,
                          uint32_t owner_uid) {
  return {.cell_id = cell_id,
          .uid = owner_uid,
          .workspace = compiled.workspace,
          .memory_bytes = compiled.limits.memory_bytes,
          .cpu_millis = compiled.limits.cpu_millis,
          .pids = compiled.limits.pids};
}

}  // namespace

// Called with the lock.
Status Broker::StartOnHost(const CellPtr& cell, uint32_t owner_uid) {
  ODY_ASSIGN_OR_RETURN(cell->provider, host_->Connect());
  cell->provider->set_on_gone([this](const wire::Gone& gone) { OnGone(gone); });
  const wire::HostPlan plan = HostPlanOf(cell->compiled, cell->id, owner_uid);
  // Weak: the connection, which holds this until it is answered, is the cell's.
  const auto on_launched = [this, weak = std::weak_ptr<Cell>(cell)](const wire::Launched& launched,
                                                                    UniqueFd socket) {
    if (const auto launching = weak.lock()) OnLaunched(launching, launched, std::move(socket));
  };
  ODY_RETURN_IF_ERROR(cell->provider->Launch(wire::Encode(plan), on_launched));
  cell->provider_group = loop_.NewGroup();
  loop_.Watch(cell->provider_group, kOnlyPlace, cell->provider->fd(), EventLoop::When::kReadable,
              [this, cell] { OnHostReadable(cell); });
  return OkStatus();
}

// The runner is asked, who alone can read the grant file.
Status Broker::CheckOnHost(const Admission& admission) {
  const uint32_t owner_uid = admission.owner.uid;
  ODY_ASSIGN_OR_RETURN(const compile::Compiled compiled,
                       CompileFor(admission.request, admission.owner));
  wire::HostPlan plan = HostPlanOf(compiled, "cel_none", owner_uid);
  plan.check_only = true;
  ODY_ASSIGN_OR_RETURN(const wire::Launched answer, host_->Check(plan));
  return answer.status;
}

void Broker::OnHostReadable(const CellPtr& cell) {
  if (cell->provider->ReadOne().ok()) return;
  OnGone({.cell_id = cell->id, .reason = Unavailable("the host runner ended")});
}

// Called with the lock. The connection is closed when nobody uses the cell any more.
void Broker::LetGoOfHost(Cell* cell) {
  if (cell->provider_group == 0) return;
  loop_.Unwatch(cell->provider->fd());
  loop_.Forget(std::exchange(cell->provider_group, 0));
}

}  // namespace odyssey::supervisor
