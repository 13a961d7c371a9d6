// odyssey-cell-review: pid 1, and the only process, of a review cell. Started by bubblewrap, as the
// cell's user, with the supervisor's socket as fd 3.

#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/os/descriptors.h"
#include "common/os/message_socket.h"
#include "policy/plan/plan.h"
#include "supervisor/cell_init/confinement.h"
#include "supervisor/cell_init/worker_process.h"
#include "supervisor/cell_review/serve.h"
#include "supervisor/wire/review_wire.h"

namespace {

using odyssey::Result;
using odyssey::Status;

constexpr int kSocketFd = 3;

// It reads what a cell wrote: confined as that cell's commands are, without a program to execute.
Status Confine(const odyssey::review::Setup& setup, int stream) {
  odyssey::cell::Configure configure;
  configure.rules = {{"/", odyssey::cell::kRead},
                     {odyssey::plan::kReviewPath, odyssey::cell::kRead | odyssey::cell::kWrite}};
  ODY_ASSIGN_OR_RETURN(const auto confinement, odyssey::cell_init::Confinement::Build(configure));
  if (setup.fork || setup.image) {
    // The commands' filter refuses the device that a whiteout is; cell-init's, which holds already,
    // does not. Files of an image have owners, of whom each may close his to others.
    const uint32_t kept = setup.image ? 1U << CAP_DAC_OVERRIDE : 0;
    ODY_RETURN_IF_ERROR(odyssey::cell_init::Confinement::DropCapabilities(/*commands=*/0, kept));
    ODY_RETURN_IF_ERROR(confinement.EnterLandlock());
    return odyssey::PlaceDescriptors({stream}, odyssey::cell_init::kFirstWorkerFd);
  }
  return odyssey::cell_init::BecomeWorker("cell-review", confinement, {stream});
}

Status Run() {
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  syscall(SYS_close_range, kSocketFd + 1, ~0U, 0);
  ODY_RETURN_IF_ERROR(odyssey::cell_init::EnterInitFilter());
  ODY_ASSIGN_OR_RETURN(const odyssey::Message message, odyssey::ReceiveMessage(kSocketFd));
  odyssey::review::Setup setup;
  ODY_RETURN_IF_ERROR(odyssey::review::Decode(message.bytes, &setup));
  if (message.fds.size() != 1) return odyssey::InvalidArgument("expected one stream");
  ODY_RETURN_IF_ERROR(Confine(setup, message.fds[0].get()));
  return odyssey::cell_review::Serve(odyssey::cell_init::kFirstWorkerFd, setup,
                                     odyssey::plan::kReviewPath);
}

}  // namespace

int main() {
  const Status status = Run();
  if (status.ok() || status.code() == odyssey::Code::kUnavailable) return 0;
  dprintf(2, "cell-review: %s\n", status.message().c_str());
  return 1;
}
