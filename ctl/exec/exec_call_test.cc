#include "ctl/exec/exec_call.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "ctl/base/exit_code.h"
#include "odyssey/supervisor/v1/supervisor.grpc.pb.h"
#include "odyssey/supervisor/v1/supervisor.stub.h"
#include "tests/fakes/temporary_directory.h"

namespace odyssey::ctl {
namespace {

constexpr int kStepMs = 10;

// Its command exits by itself only after so long that nobody waits for it.
class PatientSupervisor final : public supervisor::v1::Supervisor::Service {
 public:
  using Stream =
      grpc::ServerReaderWriter<supervisor::v1::ExecResponse, supervisor::v1::ExecRequest>;
  grpc::Status Exec(grpc::ServerContext* context, Stream* stream) override {
    for (int i = 0; i < 1000 && !context->IsCancelled(); ++i) poll(nullptr, 0, kStepMs);
    supervisor::v1::ExecResponse exited;
    exited.mutable_outcome()->set_kind(supervisor::v1::OUTCOME_KIND_EXITED);
    stream->Write(exited);
    return grpc::Status::OK;
  }
};

TEST(ExecCallTest, ASignalThatComesWhileTheStreamIsMadeEndsTheCall) {
  ExecCall call(/*terminal=*/false, ShowDenials::kNever);
  const fakes::TemporaryDirectory directory;
  const std::string socket = directory.path() + "/s.sock";
  PatientSupervisor service;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + socket, grpc::InsecureServerCredentials());
  builder.RegisterService(&service);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  const Result<Client> client = Client::Connect(Daemon::kSupervisor, {.supervisor_socket = socket});
  ASSERT_TRUE(client.ok()) << client.status().ToString();
  const supervisor::v1::SupervisorStub stub(client->channel());

  const auto make_stream = [&] {
    kill(getpid(), SIGTERM);
    while (call.interrupted_by() == 0) poll(nullptr, 0, kStepMs);
    return stub.Exec({});
  };
  EXPECT_EQ(call.Run(Console(), {}, *client, {}, make_stream), kExitSignalBase + SIGTERM);
}

}  // namespace
}  // namespace odyssey::ctl
