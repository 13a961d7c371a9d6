#ifndef ODYSSEY_CTL_EXEC_CALL_H_
#define ODYSSEY_CTL_EXEC_CALL_H_

// What `exec` and `session exec` share: the terminal and the signals around one ExecPump.

#include <grpcpp/client_context.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>

#include "ctl/client.h"
#include "ctl/console.h"
#include "ctl/denial_line.h"
#include "ctl/exec_pump.h"
#include "ctl/signal_watch.h"
#include "policy/dialect/origin.h"

namespace odyssey::ctl {

// `--tty` copies the terminal that stdin is: without one nobody could end the command's input.
Status CheckTerminal(const Console& console, bool terminal);

// Reports on stderr that no command began, with `-o json` as its outcome too, and returns the exit
// code.
int CannotExec(const Console& console, const Failure& failure);

class ExecCall final {
 public:
  // Takes over the signals. Make it before gRPC starts threads.
  ExecCall(bool terminal, ShowDenials denials);

  // Runs a unary call that a signal cancels.
  grpc::Status Interruptible(grpc::ClientContext* context,
                             const std::function<grpc::Status()>& unary);
  // The signal that came while Interruptible ran, 0 if none did.
  int interrupted_by() const { return interrupted_by_; }

  // Makes the stream, runs the command of `start` over stdin, stdout and stderr, reports what is to
  // be said on stderr: lines for people, or with `-o json` one object, {"outcome", "denials"}.
  // `origins` know where what is refused of `start` was given. Returns the exit code.
  int Run(const Console& console, supervisor::v1::ExecStart start, const Client& client,
          const dialect::Origins& origins,
          const std::function<std::unique_ptr<ExecStream>(grpc::ClientContext*)>& make_stream);

 private:
  void OnSignal(int signal);

  const bool terminal_;
  const ShowDenials denials_;
  std::mutex mutex_;
  grpc::ClientContext* unary_ = nullptr;
  ExecPump* pump_ = nullptr;
  std::atomic<int> interrupted_by_ = 0;
  SignalWatch watch_;  // last: its thread uses the members above
};

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_EXEC_CALL_H_
