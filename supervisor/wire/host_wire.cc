#include "supervisor/wire/host_wire.h"

#include "common/base/codec.h"
#include "policy/plan/plan.h"
#include "policy/plan/plan_check.h"

namespace odyssey::wire {
namespace {

constexpr uint32_t kMaxUsers = 256;
constexpr uint32_t kMaxName = 64;
constexpr uint32_t kMaxText = 4096;

}  // namespace

std::string Encode(const HostHello& m) {
  Writer w;
  w.Strings(m.users);
  w.String(m.error);
  return w.Take();
}

Status Decode(std::string_view bytes, HostHello* m) {
  Reader r(bytes);
  m->users = r.Strings(kMaxUsers, kMaxName);
  m->error = r.String(kMaxText);
  return r.Done() ? OkStatus() : InvalidArgument("malformed message HostHello");
}

std::string Encode(const HostPlan& m) {
  Writer w;
  w.String(m.cell_id);
  w.U32(m.uid);
  w.String(m.workspace);
  w.U64(m.memory_bytes);
  w.U32(m.cpu_millis);
  w.U32(m.pids);
  w.Bool(m.check_only);
  return w.Take();
}

Status Decode(std::string_view bytes, HostPlan* m) {
  Reader r(bytes);
  m->cell_id = r.String(plan::kMaxCellId);
  m->uid = r.U32();
  m->workspace = r.String(plan::kMaxPath);
  m->memory_bytes = r.U64();
  m->cpu_millis = r.U32();
  m->pids = r.U32();
  m->check_only = r.Bool();
  const bool limited = m->memory_bytes != 0 && m->cpu_millis != 0 && m->pids != 0;
  const bool placed = plan::IsNormalizedAbsolute(m->workspace) && m->workspace != "/";
  if (r.Done() && limited && placed && !m->cell_id.empty()) return OkStatus();
  return InvalidArgument("malformed host plan");
}

}  // namespace odyssey::wire
