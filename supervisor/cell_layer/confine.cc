#include "supervisor/cell_layer/confine.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "policy/plan/plan.h"
#include "supervisor/cell_init/confinement.h"

namespace odyssey::cell_layer {
namespace {

// All of them are of the first word of capset(2)'s.
constexpr uint32_t kKept =
    1U << CAP_CHOWN | 1U << CAP_DAC_OVERRIDE | 1U << CAP_FOWNER | 1U << CAP_FSETID;

Status KeepFileCapabilities() {
  for (int capability = 0;; ++capability) {
    const int present = prctl(PR_CAPBSET_READ, capability, 0, 0, 0);
    if (present < 0) break;  // past the kernel's last one
    if (present == 1 && prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0) {
      return ErrnoStatus(errno, "drop capability from the bounding set");
    }
  }
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct kept[2] = {{.effective = kKept, .permitted = kKept}, {}};
  const bool done = syscall(SYS_capset, &header, kept) == 0;
  return done ? OkStatus() : ErrnoStatus(errno, "keep the capabilities of files alone");
}

}  // namespace

const char* PathOf(layer::Op op) {
  switch (op) {
    case layer::Op::kUnpack:
      return plan::kLayerPath;
    case layer::Op::kPack:
      return layer::kFromPath;
    case layer::Op::kRead:
      return "/";
  }
  return "/";
}

Status Confine(layer::Op op) {
  cell::Configure configure;
  const bool writes = op == layer::Op::kUnpack;
  configure.rules = {{PathOf(op), static_cast<uint8_t>(cell::kRead | (writes ? cell::kWrite : 0))}};
  ODY_ASSIGN_OR_RETURN(const auto confinement, cell_init::Confinement::Build(configure));
  ODY_RETURN_IF_ERROR(KeepFileCapabilities());
  return confinement.EnterLandlock();
}

}  // namespace odyssey::cell_layer
