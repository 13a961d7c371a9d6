#ifndef ODYSSEY_AGENTD_SANDBOX_EXEC_CANCEL_H_
#define ODYSSEY_AGENTD_SANDBOX_EXEC_CANCEL_H_

// Cancels a command by CancelExec, so that its Exec ends when no process of it is left. An Exec
// that is itself cancelled ends at once for the client, and the command only later. Thread-safe.

#include <grpcpp/alarm.h>
#include <grpcpp/client_context.h>

#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "odyssey/supervisor/v1/supervisor.grpc.pb.h"

namespace odyssey::sandbox {

class ExecCancel final {
 public:
  // `stub` is borrowed. `exec`: of the call of Exec, which has begun when Request is called.
  ExecCancel(supervisor::v1::Supervisor::Stub* stub, std::shared_ptr<grpc::ClientContext> exec)
      : stub_(stub), exec_(std::move(exec)) {}
  // Exec has ended: what is still on its way is given up.
  ~ExecCancel();

  // The command has this id: `started` came.
  void OnStarted(const std::string& exec_id);
  // Does not block. Exec is to be read until it ends. A supervisor that does not end it gets its
  // call cancelled.
  void Request();

 private:
  void Send();

  supervisor::v1::Supervisor::Stub* const stub_;
  const std::shared_ptr<grpc::ClientContext> exec_;
  std::mutex mutex_;
  // All below: guarded by mutex_.
  std::string exec_id_;  // empty: not known yet
  bool requested_ = false;
  grpc::Alarm overdue_;
  grpc::ClientContext context_;  // of CancelExec
  // Calls it. gRPC 1.51 has no other way that does not block: its callbacks of a client free the
  // queue that they come from a second time when the last channel is closed.
  std::thread caller_;
};

}  // namespace odyssey::sandbox

#endif  // ODYSSEY_AGENTD_SANDBOX_EXEC_CANCEL_H_
