#ifndef ODYSSEY_SUPERVISOR_RPC_EXEC_REACTOR_H_
#define ODYSSEY_SUPERVISOR_RPC_EXEC_REACTOR_H_

#include <grpcpp/support/server_callback.h>

#include <memory>
#include <string>

#include "odyssey/supervisor/v1/supervisor.pb.h"
#include "supervisor/rpc/broker.h"

namespace odyssey::supervisor {

// One Exec stream: forwards the client's messages to an Exec and the command's output to the
// client, one write at a time. gRPC's threads post to the loop, which owns everything here. Owns
// itself until OnDone.
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

  // The command's, on the loop.
  std::string* BeginOutput() override;
  void SendOutput(Stream stream) override;
  void SendDenial(const explain::Denial& denial) override;
  void SendOutcome(const Outcome& outcome) override;
  void StdinTaken() override;

 private:
  // What OnReadDone found, on the loop.
  void TakeFirst(bool ok, const Status& admitted);
  void Take(bool ok);
  Status Start();
  Status Forward();
  void Write();
  void End(const grpc::Status& status);

  Broker* const broker_;
  odyssey::supervisor::v1::ExecRequest request_;    // gRPC's while a read is under way
  odyssey::supervisor::v1::ExecResponse response_;  // gRPC's while `writing_`
  bool started_ = false;  // the first message has come; for gRPC's threads

  std::shared_ptr<Exec> exec_;
  std::string exec_id_;
  bool writing_ = false;
  bool ended_ = false;  // Finish was called
  bool cancelled_ = false;
  grpc::Status rejected_;  // not OK: ends the call in place of the outcome
};

}  // namespace odyssey::supervisor

#endif  // ODYSSEY_SUPERVISOR_RPC_EXEC_REACTOR_H_
