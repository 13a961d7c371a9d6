#ifndef ODYSSEY_SUPERVISOR_RPC_EXEC_REACTOR_H_
#define ODYSSEY_SUPERVISOR_RPC_EXEC_REACTOR_H_

#include <grpcpp/support/server_callback.h>

#include <memory>
#include <mutex>

#include "odyssey/supervisor/v1/supervisor.pb.h"
#include "supervisor/rpc/broker.h"

namespace odyssey::supervisor {

// One Exec stream: forwards the client's messages to an ExecSession and the session's output to the
// client, one write at a time. Owns itself until OnDone.
class ExecReactor final : public grpc::ServerBidiReactor<odyssey::supervisor::v1::ExecRequest,
                                                         odyssey::supervisor::v1::ExecResponse>,
                          public ExecSink {
 public:
  explicit ExecReactor(Broker* broker);

  // gRPC's events, on its threads.
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

  // The session's, under its lock.
  std::string* BeginOutput() override;
  void SendOutput(Stream stream) override;
  void SendDenial(const explain::Denial& denial) override;
  void SendOutcome(const Outcome& outcome) override;
  void StdinTaken() override;

 private:
  void Start();
  Status Forward();
  // Kills the command; the call ends with `why` once it is gone.
  void Reject(const Status& why);

  Broker* const broker_;
  odyssey::supervisor::v1::ExecRequest request_;
  odyssey::supervisor::v1::ExecResponse response_;

  std::mutex mutex_;  // guards what follows; never held while the session is called
  std::shared_ptr<ExecSession> session_;
  std::string exec_id_;
  bool writing_ = false;
  bool finished_ = false;
  bool cancelled_ = false;
  grpc::Status rejected_;  // not OK: ends the call in place of the outcome
};

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_EXEC_REACTOR_H_
