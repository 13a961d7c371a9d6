#ifndef ODYSSEY_CTL_DOCTOR_PROBE_INTERRUPT_H_
#define ODYSSEY_CTL_DOCTOR_PROBE_INTERRUPT_H_

// Ctrl-C in the middle of probing: the calls under way end, and what was laid out is taken away as
// if they had failed.

#include "common/os/unique_fd.h"

namespace odyssey::ctl {

class ProbeInterrupt final {
 public:
  // Blocks the signals that ask to stop. Caller must be single-threaded.
  ProbeInterrupt();

  // rpc::CallOptions::cancel_fd: readable from the first signal on, which is never taken.
  int fd() const { return signals_.get(); }
  // 0: none came.
  int signal() const;

 private:
  const UniqueFd signals_;
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_DOCTOR_PROBE_INTERRUPT_H_
