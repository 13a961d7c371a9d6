#include "supervisor/cell_init/worker_process.h"

#include <signal.h>
#include <sys/prctl.h>

#include "common/os/descriptors.h"

namespace odyssey::cell_init {

void UnblockSignals() {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

Status BecomeWorker(const char* name, const Confinement& confinement,
                    const std::vector<int>& wanted) {
  prctl(PR_SET_NAME, name);
  UnblockSignals();

  ODY_RETURN_IF_ERROR(Confinement::DropCapabilities());
  ODY_RETURN_IF_ERROR(confinement.EnterLandlock());
  ODY_RETURN_IF_ERROR(PlaceDescriptors(wanted, kFirstWorkerFd));
  return EnterCommandFilter();
}

}  // namespace odyssey::cell_init
