// The client against gRPC's own server, and against what is no such server.
#include "common/rpc/h2_call.h"

#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "common/base/refusal.h"
#include "common/os/unique_fd.h"
#include "common/os/unix_listener.h"
#include "common/rpc/status_map.h"
#include "odyssey/supervisor/v1/supervisor.grpc.pb.h"
#include "odyssey/supervisor/v1/supervisor.stub.h"
#include "tests/fakes/accept_one.h"
#include "tests/fakes/temporary_directory.h"

namespace odyssey::rpc {
namespace {

namespace v1 = ::odyssey::supervisor::v1;
using ServerStream = grpc::ServerReaderWriter<v1::ExecResponse, v1::ExecRequest>;

constexpr size_t kPiece = 256 * 1024;
constexpr size_t kPieces = 400;  // 100 MiB
// What may lie between two ends that hold each other back: windows, socket buffers, one message.
constexpr size_t kMostAhead = 48 * 1024 * 1024;

class FakeServer final : public v1::Supervisor::Service {
 public:
  grpc::Status DescribeCell(grpc::ServerContext* context, const v1::DescribeCellRequest* request,
                            v1::DescribeCellResponse* response) override {
    has_deadline = context->deadline() < std::chrono::system_clock::now() + std::chrono::hours(1);
    response->mutable_cell()->set_cell_id(request->cell_id());
    return status;
  }
  grpc::Status RemoveCell(grpc::ServerContext* context, const v1::RemoveCellRequest*,
                          v1::RemoveCellResponse*) override {
    while (!context->IsCancelled()) std::this_thread::yield();
    cancelled = true;
    return grpc::Status::CANCELLED;
  }
  grpc::Status Exec(grpc::ServerContext* context, ServerStream* stream) override {
    return exec(context, stream);
  }

  grpc::Status status;
  bool has_deadline = false;
  std::atomic<bool> cancelled = false;
  std::function<grpc::Status(grpc::ServerContext*, ServerStream*)> exec;
};

v1::ExecResponse Output(const std::string& data) {
  v1::ExecResponse response;
  response.mutable_output()->set_data(data);
  return response;
}

class H2CallTest : public ::testing::Test {
 protected:
  void SetUp() override { Serve(); }
  void TearDown() override { Stop(); }

  void Serve() {
    grpc::ServerBuilder builder;
    builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
    // How long a thread of the server may wait for a call while the server shuts down.
    builder.SetSyncServerOption(grpc::ServerBuilder::SyncServerOption::CQ_TIMEOUT_MSEC, 50);
    builder.AddListeningPort("unix:" + socket_, grpc::InsecureServerCredentials());
    builder.RegisterService(&fake_);
    server_ = builder.BuildAndStart();
  }
  void Stop() {
    server_->Shutdown(std::chrono::system_clock::now());
    server_.reset();
  }
  Status Describe(const std::string& id, v1::DescribeCellResponse* response,
                  const CallOptions& options = {}) {
    v1::DescribeCellRequest request;
    request.set_cell_id(id);
    return stub_.DescribeCell(options, request, response);
  }

  const fakes::TemporaryDirectory directory_;
  const std::string socket_ = directory_.path() + "/socket";
  FakeServer fake_;
  std::unique_ptr<grpc::Server> server_;
  const std::shared_ptr<H2Channel> channel_ = std::make_shared<H2Channel>(socket_);
  const v1::SupervisorStub stub_{channel_};
};

TEST_F(H2CallTest, AUnaryCallHasItsAnswer) {
  v1::DescribeCellResponse response;
  for (const char* id : {"cel_1", "cel_2", "cel_3"}) {  // over one connection
    ASSERT_TRUE(Describe(id, &response).ok());
    EXPECT_EQ(response.cell().cell_id(), id);
    EXPECT_FALSE(fake_.has_deadline);
  }
  ASSERT_TRUE(Describe("cel_1", &response, {.deadline_ms = 60'000}).ok());
  EXPECT_TRUE(fake_.has_deadline);
}

TEST_F(H2CallTest, AFailureComesWithItsDetail) {
  const Status refused =
      WithHint(kHintCeiling, Refused(Code::kPermissionDenied, "mounts[0]", "/\xc3\xbc", "no\n%"));
  fake_.status = ToGrpc(refused);
  v1::DescribeCellResponse response;
  const Status status = Describe("cel_1", &response);
  EXPECT_EQ(status, refused);
  EXPECT_EQ(status.detail(), refused.detail());
}

TEST_F(H2CallTest, AMethodThatTheServerHasNotIsUnimplemented) {
  v1::ListCellsResponse response;
  EXPECT_EQ(stub_.ListCells({}, {}, &response).code(), Code::kUnimplemented);
}

TEST_F(H2CallTest, AMessageLargerThanEveryWindowArrives) {
  v1::DescribeCellResponse response;
  const std::string large(20 * 1024 * 1024, 'x');
  const Status status = Describe(large, &response);
  ASSERT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(response.cell().cell_id(), large);
  EXPECT_EQ(Describe(std::string(kMaxMessageBytes, 'x'), &response).code(),
            Code::kResourceExhausted);
}

TEST_F(H2CallTest, ADeadlineEndsACallThatIsNotAnswered) {
  v1::RemoveCellResponse response;
  EXPECT_EQ(stub_.RemoveCell({.deadline_ms = 50}, {}, &response).code(), Code::kDeadlineExceeded);
  while (!fake_.cancelled) std::this_thread::yield();
}

TEST_F(H2CallTest, AReadableDescriptorCancels) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd reader(ends[0]), writer(ends[1]);
  std::thread other([&] {
    usleep(20'000);
    EXPECT_EQ(write(writer.get(), "x", 1), 1);
  });
  v1::RemoveCellResponse response;
  EXPECT_EQ(stub_.RemoveCell({.cancel_fd = reader.get()}, {}, &response).code(), Code::kCancelled);
  other.join();
  while (!fake_.cancelled) std::this_thread::yield();
  // It stays readable: the next call does not begin.
  EXPECT_EQ(stub_.RemoveCell({.cancel_fd = reader.get()}, {}, &response).code(), Code::kCancelled);
  v1::DescribeCellResponse described;
  EXPECT_TRUE(Describe("cel_1", &described).ok()) << "the connection is still good";
}

TEST_F(H2CallTest, ADestroyedStreamIsCancelledAtTheServer) {
  std::atomic<bool> over = false;
  fake_.exec = [&](grpc::ServerContext* context, ServerStream* stream) {
    stream->Write(Output("ready"));
    while (!context->IsCancelled()) std::this_thread::yield();
    over = true;
    return grpc::Status::CANCELLED;
  };
  {
    auto stream = stub_.Exec({});
    v1::ExecResponse response;
    ASSERT_TRUE(stream.Read(&response));
  }
  while (!over) std::this_thread::yield();
}

TEST_F(H2CallTest, StreamsGoBothWaysAndEachEndHoldsTheOtherBack) {
  std::atomic<size_t> written = 0;
  fake_.exec = [&](grpc::ServerContext*, ServerStream* stream) {
    size_t got = 0;
    for (v1::ExecRequest request; stream->Read(&request);) got += request.stdin().size();
    const std::string piece(kPiece, 'y');
    for (size_t i = 0; i < kPieces; ++i) {
      stream->Write(Output(piece));
      written += kPiece;
    }
    return grpc::Status(grpc::StatusCode::ABORTED, std::to_string(got));
  };
  auto stream = stub_.Exec({});
  v1::ExecRequest request;
  request.set_stdin(std::string(kPiece, 'x'));
  for (size_t i = 0; i < kPieces; ++i) ASSERT_TRUE(stream.Write(request));
  stream.WritesDone();
  size_t read = 0;
  for (v1::ExecResponse response; stream.Read(&response);) {
    read += response.output().data().size();
    ASSERT_LE(written, read + kMostAhead);
  }
  EXPECT_EQ(read, kPieces * kPiece);
  EXPECT_EQ(stream.Finish(), Status(Code::kAborted, std::to_string(kPieces * kPiece)));
}

TEST_F(H2CallTest, WhatIsNotReadDoesNotComeAtAll) {
  std::atomic<size_t> written = 0;
  fake_.exec = [&](grpc::ServerContext*, ServerStream* stream) {
    const std::string piece(kPiece, 'y');
    for (size_t i = 0; i < kPieces && stream->Write(Output(piece)); ++i) written += kPiece;
    return grpc::Status::OK;
  };
  auto stream = stub_.Exec({});
  v1::ExecResponse response;
  ASSERT_TRUE(stream.Read(&response));
  // The connection is served by other calls, and this one stays where it is.
  v1::DescribeCellResponse described;
  size_t before = 0;
  do {
    before = written;
    for (int i = 0; i < 200; ++i) ASSERT_TRUE(Describe("cel_1", &described).ok());
  } while (written != before);
  EXPECT_LE(written, kMostAhead);
  size_t read = response.output().data().size();
  while (stream.Read(&response)) read += response.output().data().size();
  EXPECT_EQ(read, kPieces * kPiece);
  EXPECT_TRUE(stream.Finish().ok());
}

TEST_F(H2CallTest, ACallThatEndsWhileTheClientSendsIsOver) {
  fake_.exec = [](grpc::ServerContext*, ServerStream*) {
    return grpc::Status(grpc::StatusCode::NOT_FOUND, "none");
  };
  auto stream = stub_.Exec({});
  v1::ExecRequest request;
  request.set_stdin(std::string(kPiece, 'x'));
  size_t count = 0;
  while (stream.Write(request) && ++count < kPieces) {
  }
  EXPECT_LT(count, kPieces);
  EXPECT_EQ(stream.Finish(), NotFound("none"));
  v1::DescribeCellResponse response;
  EXPECT_TRUE(Describe("cel_1", &response).ok());
}

TEST_F(H2CallTest, AServerThatGoesAwayEndsCallsAndTheNextCallConnectsAgain) {
  fake_.exec = [](grpc::ServerContext* context, ServerStream* stream) {
    stream->Write(Output("ready"));
    while (!context->IsCancelled()) std::this_thread::yield();
    return grpc::Status::CANCELLED;
  };
  auto stream = stub_.Exec({});
  v1::ExecResponse response;
  ASSERT_TRUE(stream.Read(&response));
  Stop();
  EXPECT_FALSE(stream.Read(&response));
  EXPECT_FALSE(stream.Finish().ok());
  v1::DescribeCellResponse described;
  EXPECT_EQ(Describe("cel_1", &described).detail().hint, kHintConnectionLost);
  Serve();
  EXPECT_TRUE(Describe("cel_1", &described).ok());
}

// A socket on which the test answers itself.
class StrangeServerTest : public ::testing::Test {
 protected:
  // Serves one connection with `serve`.
  void Serve(const std::function<void(int)>& serve) {
    listener_ = std::move(ListenUnix(socket_, 0600)).value();
    thread_ = std::thread([this, serve] {
      const UniqueFd connection = fakes::AcceptOne(listener_.get());
      serve(connection.get());
    });
  }
  void TearDown() override { thread_.join(); }

  Status Call(std::chrono::milliseconds connect_within = H2Channel::kConnectWithin) {
    const v1::SupervisorStub stub(std::make_shared<H2Channel>(socket_, connect_within));
    v1::DescribeCellResponse response;
    return stub.DescribeCell({}, {}, &response);
  }

  static void ReadToTheEnd(int connection) {
    char bytes[4096];
    while (read(connection, bytes, sizeof(bytes)) > 0) {
    }
  }

  const fakes::TemporaryDirectory directory_;
  const std::string socket_ = directory_.path() + "/socket";
  UniqueFd listener_;
  std::thread thread_;
};

TEST_F(StrangeServerTest, OneThatClosesAtOnceIsALostConnection) {
  Serve([](int) {});
  const Status status = Call();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_EQ(status.detail().hint, kHintConnectionLost);
}

TEST_F(StrangeServerTest, OneThatSaysNothingIsLostAfterAWhile) {
  Serve(ReadToTheEnd);
  EXPECT_EQ(Call(std::chrono::milliseconds(50)).detail().hint, kHintConnectionLost);
}

TEST_F(StrangeServerTest, OneThatTalksSomethingElseIsALostConnection) {
  Serve([](int connection) {
    const std::string text = "HTTP/1.1 400 Bad Request\r\n\r\n" + std::string(100, 'x');
    EXPECT_EQ(write(connection, text.data(), text.size()), static_cast<ssize_t>(text.size()));
    ReadToTheEnd(connection);
  });
  EXPECT_EQ(Call().detail().hint, kHintConnectionLost);
}

TEST_F(StrangeServerTest, OneThatEndsInTheMiddleOfAFrameIsALostConnection) {
  Serve([](int connection) {
    EXPECT_EQ(write(connection, "\0\0\x06\x04\0\0\0\0\0\0\x03", 11), 11);  // half of SETTINGS
  });
  EXPECT_EQ(Call().detail().hint, kHintConnectionLost);
}

}  // namespace
}  // namespace odyssey::rpc
