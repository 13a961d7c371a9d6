// rpc's half of plan.h, apart from plan.cc, so that root links what it uses.

#include "common/base/codec.h"
#include "policy/plan/plan.h"

namespace odyssey::plan {
namespace {

void EncodeEntry(const Entry& entry, Writer* out) {
  out->U8(static_cast<uint8_t>(entry.kind));
  out->String(entry.target);
  out->String(entry.source);
  out->U8(static_cast<uint8_t>(entry.access));
  out->Bool(entry.executable);
  out->U8(static_cast<uint8_t>(entry.ownership));
  out->U64(entry.size_bytes);
  out->String(entry.changes);
  out->U32(entry.owner);
  out->U32(entry.group);
  for (const uint64_t number : {entry.device, entry.inode}) out->U64(number);
}

}  // namespace

std::string EncodePlan(const Plan& plan) {
  Writer out;
  out.U8(kPlanVersion);
  out.String(plan.cell_id);
  out.String(plan.cell_tree);
  out.String(plan.from_tree);
  out.U8(static_cast<uint8_t>(plan.program));
  out.U8(static_cast<uint8_t>(plan.network));
  out.U8(static_cast<uint8_t>(plan.ids));
  out.U32(plan.user);
  out.U32(plan.group);
  out.Bool(plan.build);
  out.Bool(plan.fuse_device);
  out.U64(plan.memory_bytes);
  out.U32(plan.cpu_millis);
  out.U32(plan.pids);
  out.U64(plan.tmp_bytes);
  out.U64(plan.disk_bytes);
  out.Strings(plan.layers);
  out.Bool(plan.root_executable);

  out.U32(static_cast<uint32_t>(plan.entries.size()));
  for (const Entry& entry : plan.entries) EncodeEntry(entry, &out);
  return out.Take();
}

}  // namespace odyssey::plan
