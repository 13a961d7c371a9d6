#include "policy/plan/plan.h"

#include "common/base/codec.h"

namespace odyssey::plan {
namespace {

Entry DecodeEntry(Reader* in) {
  Entry entry;
  entry.kind = in->Enum(EntryKind::kPart);
  entry.target = in->String(kMaxPath);
  entry.source = in->String(entry.kind == EntryKind::kFile ? kMaxFileBytes : kMaxPath);
  entry.access = in->Enum(Access::kReadWrite);
  entry.executable = in->Bool();
  entry.ownership = in->Enum(Ownership::kMapped);
  entry.size_bytes = in->U64();
  entry.changes = in->String(kMaxPath);
  entry.owner = in->U32();
  entry.group = in->U32();
  for (uint64_t* number : {&entry.device, &entry.inode}) *number = in->U64();
  return entry;
}

Status Malformed(const std::string& field) {
  return InvalidArgument("decode plan: " + field + ": malformed, too long, or cut off");
}

}  // namespace

Result<Plan> DecodePlan(std::string_view bytes) {
  if (bytes.size() > kMaxPlanBytes) return Malformed("size");
  Reader in(bytes);
  if (in.U8() != kPlanVersion) return Malformed("version");

  Plan plan;
  plan.cell_id = in.String(kMaxCellId);
  if (in.failed()) return Malformed("cell_id");
  plan.cell_tree = in.String(kMaxPath);
  plan.from_tree = in.String(kMaxPath);
  plan.program = in.Enum(Program::kLayer);
  plan.network = in.Enum(Network::kFull);
  plan.ids = in.Enum(Ids::kRange);
  plan.user = in.U32();
  plan.group = in.U32();
  plan.build = in.Bool();
  plan.fuse_device = in.Bool();
  plan.memory_bytes = in.U64();
  plan.cpu_millis = in.U32();
  plan.pids = in.U32();
  plan.tmp_bytes = in.U64();
  plan.disk_bytes = in.U64();
  plan.layers = in.Strings(kMaxLayers, kMaxLayerName);
  plan.root_executable = in.Bool();
  const uint32_t count = in.Count(kMaxEntries);
  for (uint32_t i = 0; i < count; ++i) {
    plan.entries.push_back(DecodeEntry(&in));
    if (in.failed()) return Malformed("entries[" + std::to_string(i) + "]");
  }
  if (!in.Done()) return Malformed("what is not of an entry");
  return plan;
}

}  // namespace odyssey::plan
