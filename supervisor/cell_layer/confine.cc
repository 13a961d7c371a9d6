#include "supervisor/cell_layer/confine.h"

#include <linux/capability.h>

#include "policy/plan/plan.h"
#include "supervisor/cell_init/confinement.h"

namespace odyssey::cell_layer {
namespace {

// All of them are of the first word of capset(2)'s.
constexpr uint32_t kKept =
    1U << CAP_CHOWN | 1U << CAP_DAC_OVERRIDE | 1U << CAP_FOWNER | 1U << CAP_FSETID;

}  // namespace

const char* PathOf(layer::Op op) {
  switch (op) {
    case layer::Op::kUnpack:
      return plan::kLayerPath;
    case layer::Op::kPack:
      return layer::kFromPath;
    case layer::Op::kRead:
    case layer::Op::kFind:
      return "/";
  }
  return "/";
}

Status Confine(layer::Op op) {
  cell::Configure configure;
  const bool writes = op == layer::Op::kUnpack;
  configure.rules = {{PathOf(op), static_cast<uint8_t>(cell::kRead | (writes ? cell::kWrite : 0))}};
  ODY_ASSIGN_OR_RETURN(const auto confinement, cell_init::Confinement::Build(configure));
  ODY_RETURN_IF_ERROR(cell_init::Confinement::DropCapabilities(/*commands=*/0, kKept));
  return confinement.EnterLandlock();
}

}  // namespace odyssey::cell_layer
