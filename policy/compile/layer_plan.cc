#include "policy/compile/layer_plan.h"

namespace odyssey::compile {
namespace {

using plan::Access;
using plan::Entry;
using plan::EntryKind;

// A window of zstd is at most 128 MiB; the rest is what the kernel caches of files.
constexpr uint64_t kMemoryBytes = uint64_t{512} << 20;
constexpr uint32_t kPids = 4;
constexpr uint32_t kCpuMillis = 2000;
// A layer cell has no tmpfs; a plan has to say a size all the same.
constexpr uint64_t kTmpBytes = uint64_t{1} << 20;
constexpr char kFromPath[] = "/layer-from";  // layer::kFromPath

plan::Plan LayerCell(const std::string& name) {
  plan::Plan out;
  out.program = plan::Program::kLayer;
  out.cell_tree = plan::kLayersTree + ("/" + name);
  out.ids = plan::Ids::kRange;
  out.user = 0;
  out.group = 0;
  out.memory_bytes = kMemoryBytes;
  out.cpu_millis = kCpuMillis;
  out.pids = kPids;
  out.tmp_bytes = kTmpBytes;
  return out;
}

}  // namespace

plan::Plan UnpackPlan(const std::string& name) {
  plan::Plan out = LayerCell(name);
  out.entries.push_back({.kind = EntryKind::kCellTree,
                         .target = plan::kLayerPath,
                         .source = plan::kLayerFiles,
                         .access = Access::kReadWrite});
  return out;
}

plan::Plan PackPlan(const std::string& scratch, const std::string& cell_tree) {
  plan::Plan out = LayerCell(scratch);
  out.from_tree = cell_tree;
  out.entries.push_back({.kind = EntryKind::kCellTree,
                         .target = kFromPath,
                         .source = plan::kRootChanges + std::string("/upper"),
                         .access = Access::kReadOnly});
  return out;
}

plan::Plan ReadPlan(const std::string& scratch, const std::vector<std::string>& layers) {
  plan::Plan out = LayerCell(scratch);
  out.layers = layers;
  return out;
}

std::vector<std::string> PlacesMadeByRoot() { return {".odyssey", "dev", "proc", "sys"}; }

}  // namespace odyssey::compile
