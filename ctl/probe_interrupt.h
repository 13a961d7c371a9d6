#ifndef ODYSSEY_CTL_PROBE_INTERRUPT_H_
#define ODYSSEY_CTL_PROBE_INTERRUPT_H_

// Ctrl-C in the middle of probing: the calls under way end, and what was laid out is taken away as
// if they had failed.

#include <grpcpp/client_context.h>

#include <mutex>
#include <optional>
#include <set>

#include "ctl/signal_watch.h"

namespace odyssey::ctl {

class ProbeInterrupt final {
 public:
  // Blocks the signals that ask to stop. Caller must be single-threaded.
  ProbeInterrupt();

  // From here on one cancels what runs. Starts a thread.
  void Watch();
  // 0: none came.
  int signal() const;

  // A call that is cancelled when a signal comes, or at once if one came already.
  class Call final {
   public:
    Call(ProbeInterrupt* interrupt, grpc::ClientContext* context);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    ProbeInterrupt* const interrupt_;
    grpc::ClientContext* const context_;
  };

 private:
  void OnSignal(int signal);

  mutable std::mutex mutex_;
  int signal_ = 0;
  std::set<grpc::ClientContext*> calls_;
  std::optional<SignalWatch> watch_;  // last: its thread ends before what it uses
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_PROBE_INTERRUPT_H_
