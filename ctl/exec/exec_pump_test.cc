#include "ctl/exec/exec_pump.h"

#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "common/os/unique_fd.h"
#include "odyssey/supervisor/v1/supervisor.grpc.pb.h"
#include "odyssey/supervisor/v1/supervisor.stub.h"

namespace odyssey::ctl {
namespace {

using supervisor::v1::ExecRequest;
using supervisor::v1::ExecResponse;
using Stream = grpc::ServerReaderWriter<ExecResponse, ExecRequest>;

// A supervisor whose Exec is a function of the test.
class FakeSupervisor final : public supervisor::v1::Supervisor::Service {
 public:
  grpc::Status Exec(grpc::ServerContext* context, Stream* stream) override {
    return exec(context, stream);
  }
  std::function<grpc::Status(grpc::ServerContext*, Stream*)> exec;
};

struct Pipe {
  Pipe() {
    int fds[2] = {-1, -1};
    EXPECT_EQ(pipe2(fds, O_CLOEXEC), 0);
    read.reset(fds[0]);
    write.reset(fds[1]);
  }
  UniqueFd read;
  UniqueFd write;
};

std::string ReadAll(int fd) {
  std::string out;
  char buffer[4096];
  for (ssize_t n = read(fd, buffer, sizeof(buffer)); n > 0; n = read(fd, buffer, sizeof(buffer))) {
    out.append(buffer, static_cast<size_t>(n));
  }
  return out;
}

ExecResponse Output(const std::string& data, supervisor::v1::OutputStream stream) {
  ExecResponse response;
  response.mutable_output()->set_stream(stream);
  response.mutable_output()->set_data(data);
  return response;
}

// What a command does that has been started: so much is sure once its output is there.
void Begin(Stream* stream) {
  ExecResponse response;
  response.mutable_started()->set_exec_id("exe_1");
  stream->Write(response);
  stream->Write(Output("s", supervisor::v1::OUTPUT_STREAM_STDOUT));
}

ExecResponse Exited(int code) {
  ExecResponse response;
  response.mutable_outcome()->set_kind(supervisor::v1::OUTCOME_KIND_EXITED);
  response.mutable_outcome()->set_exit_code(code);
  return response;
}

class ExecPumpTest : public testing::Test {
 protected:
  void SetUp() override {
    signal(SIGPIPE, SIG_IGN);
    char name[] = "/tmp/odyssey-pump-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory_ = name;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + directory_ + "/s.sock", grpc::InsecureServerCredentials());
    builder.RegisterService(&fake_);
    server_ = builder.BuildAndStart();
    stub_.emplace(std::make_shared<rpc::H2Channel>(directory_ + "/s.sock"));
    ASSERT_EQ(fcntl(signals_.read.get(), F_SETFL, O_NONBLOCK), 0);
  }
  void TearDown() override {
    server_->Shutdown(std::chrono::system_clock::now());
    unlink((directory_ + "/s.sock").c_str());
    rmdir(directory_.c_str());
  }

  // As a signalfd has it.
  void Signal(int signal) {
    signalfd_siginfo info{};
    info.ssi_signo = static_cast<uint32_t>(signal);
    ASSERT_EQ(write(signals_.write.get(), &info, sizeof(info)), ssize_t{sizeof(info)});
  }

  // Runs the pump over the pipes, and `during` while it runs.
  ExitReport Run(const std::function<void()>& during = {},
                 std::chrono::milliseconds grace = ExecPump::kGrace, bool clean = false) {
    ExecStream stream = stub_->Exec({});
    const ExecFds fds = {.in = in_.read.get(),
                         .out = out_.write.get(),
                         .err = err_.write.get(),
                         .signals = signals_.read.get(),
                         .clean_out = clean,
                         .clean_err = clean};
    ExecPump pump(&stream, fds, grace);
    std::thread other;
    if (during) other = std::thread(during);
    supervisor::v1::ExecStart start;
    start.add_argv("cmd");
    const auto nothing = [] {};
    ExitReport report = pump.Run(start, nothing, [](const Status& status) {
      return ExitReport{125, "rpc: " + status.message(), ""};
    });
    if (other.joinable()) other.join();
    out_.write.reset();
    err_.write.reset();
    return report;
  }

  FakeSupervisor fake_;
  std::string directory_;
  std::unique_ptr<grpc::Server> server_;
  std::optional<supervisor::v1::SupervisorStub> stub_;
  Pipe in_, out_, err_, signals_;
};

TEST_F(ExecPumpTest, CarriesEveryStreamAndTheExitCode) {
  std::string argv0;
  fake_.exec = [&](grpc::ServerContext*, Stream* stream) {
    ExecRequest request;
    std::string input;
    while (stream->Read(&request) && !request.stdin_eof()) {
      if (request.has_start()) argv0 = request.start().argv(0);
      input += request.stdin();
    }
    stream->Write(Output("out:" + input, supervisor::v1::OUTPUT_STREAM_STDOUT));
    stream->Write(Output(std::string("err\0\xff", 5), supervisor::v1::OUTPUT_STREAM_STDERR));
    stream->Write(Exited(7));
    return grpc::Status::OK;
  };
  ASSERT_EQ(write(in_.write.get(), "hello", 5), 5);
  in_.write.reset();
  EXPECT_EQ(Run(), (ExitReport{7, "", ""}));
  EXPECT_EQ(argv0, "cmd");
  EXPECT_EQ(ReadAll(out_.read.get()), "out:hello");
  EXPECT_EQ(ReadAll(err_.read.get()), std::string("err\0\xff", 5));
}

TEST_F(ExecPumpTest, OutcomeEndsItThoughStdinStaysOpen) {
  fake_.exec = [](grpc::ServerContext*, Stream* stream) {
    stream->Write(Exited(0));
    return grpc::Status::OK;
  };
  EXPECT_EQ(Run(), (ExitReport{0, "", ""}));
}

TEST_F(ExecPumpTest, RefusedCallIs125WithItsReason) {
  fake_.exec = [](grpc::ServerContext*, Stream*) {
    return grpc::Status(grpc::StatusCode::NOT_FOUND, "cell_id cel_1: no such cell");
  };
  EXPECT_EQ(Run(), (ExitReport{125, "rpc: cell_id cel_1: no such cell", ""}));
}

TEST_F(ExecPumpTest, StreamWithoutOutcomeIs125) {
  fake_.exec = [](grpc::ServerContext*, Stream*) { return grpc::Status::OK; };
  EXPECT_EQ(Run(), (ExitReport{125, "cmd: the stream ended without an outcome", ""}));
}

TEST_F(ExecPumpTest, ClosedStdoutCancelsTheCommand) {
  bool cancelled = false;
  fake_.exec = [&](grpc::ServerContext* context, Stream* stream) {
    while (stream->Write(Output("y\n", supervisor::v1::OUTPUT_STREAM_STDOUT))) {
    }
    cancelled = context->IsCancelled();
    return grpc::Status::CANCELLED;
  };
  out_.read.reset();
  EXPECT_EQ(Run(), (ExitReport{128 + SIGPIPE, "", ""}));
  stub_.reset();  // a server that ends waits for idle connections
  server_->Shutdown();
  EXPECT_TRUE(cancelled);
}

// For example behind a turn that waits for an approval.
TEST_F(ExecPumpTest, SignalBeforeTheCommandHasStartedCancels) {
  Pipe asked;
  fake_.exec = [&](grpc::ServerContext* context, Stream* stream) {
    ExecRequest request;
    stream->Read(&request);
    EXPECT_EQ(write(asked.write.get(), "s", 1), 1);
    while (!context->IsCancelled()) std::this_thread::yield();
    return grpc::Status::CANCELLED;
  };
  const ExitReport report = Run([&] {
    char byte;
    ASSERT_EQ(read(asked.read.get(), &byte, 1), 1);
    Signal(SIGWINCH);
    Signal(SIGTERM);
  });
  EXPECT_EQ(report, (ExitReport{128 + SIGTERM, "", ""}));
}

TEST_F(ExecPumpTest, SignalGoesToTheCommand) {
  fake_.exec = [&](grpc::ServerContext*, Stream* stream) {
    ExecRequest request;
    stream->Read(&request);
    Begin(stream);
    stream->Read(&request);
    stream->Write(Exited(request.signal()));
    return grpc::Status::OK;
  };
  const ExitReport report = Run([&] {
    char byte;
    ASSERT_EQ(read(out_.read.get(), &byte, 1), 1);
    Signal(SIGTERM);
  });
  EXPECT_EQ(report, (ExitReport{SIGTERM, "", ""}));
}

TEST_F(ExecPumpTest, SecondInterruptCancels) {
  fake_.exec = [&](grpc::ServerContext*, Stream* stream) {
    ExecRequest request;
    stream->Read(&request);
    Begin(stream);
    while (stream->Read(&request)) {
    }  // a command that ignores signals, until the call is cancelled
    return grpc::Status::CANCELLED;
  };
  const ExitReport report = Run([&] {
    char byte;
    ASSERT_EQ(read(out_.read.get(), &byte, 1), 1);
    Signal(SIGINT);
    Signal(SIGINT);
  });
  EXPECT_EQ(report, (ExitReport{128 + SIGINT, "", ""}));
}

TEST_F(ExecPumpTest, SignalsAreTakenWhileNothingReadsTheOutput) {
  fake_.exec = [&](grpc::ServerContext*, Stream* stream) {
    ExecRequest request;
    stream->Read(&request);
    Begin(stream);
    stream->Write(Output(std::string(1 << 20, 'x'), supervisor::v1::OUTPUT_STREAM_STDOUT));
    while (stream->Read(&request)) {
    }
    return grpc::Status::CANCELLED;
  };
  const ExitReport report = Run([&] {
    // All of it but the rest of two pages.
    const int full = fcntl(out_.write.get(), F_GETPIPE_SZ) - 2 * PIPE_BUF;
    for (int held = 0; held < full; std::this_thread::yield()) {
      ASSERT_EQ(ioctl(out_.read.get(), FIONREAD, &held), 0);
    }
    Signal(SIGINT);
    Signal(SIGINT);
  });
  EXPECT_EQ(report, (ExitReport{128 + SIGINT, "", ""}));
}

// As the keeper of a service, or a terminal that was closed, expects it.
TEST_F(ExecPumpTest, CommandThatIgnoresItsEndIsCancelledAfterAWhile) {
  fake_.exec = [&](grpc::ServerContext*, Stream* stream) {
    ExecRequest request;
    stream->Read(&request);
    Begin(stream);
    while (stream->Read(&request)) {
    }
    return grpc::Status::CANCELLED;
  };
  const auto hang_up = [&] {
    char byte;
    ASSERT_EQ(read(out_.read.get(), &byte, 1), 1);
    Signal(SIGHUP);
  };
  EXPECT_EQ(Run(hang_up, std::chrono::milliseconds(50)), (ExitReport{128 + SIGHUP, "", ""}));
}

TEST_F(ExecPumpTest, OutputForATerminalIsCleanedAndColoursEndWithIt) {
  fake_.exec = [&](grpc::ServerContext*, Stream* stream) {
    for (const auto of :
         {supervisor::v1::OUTPUT_STREAM_STDOUT, supervisor::v1::OUTPUT_STREAM_STDERR}) {
      for (const char* part : {"\x1b[31mred\x1b]5", "2;c;x\x07\n"}) stream->Write(Output(part, of));
    }
    stream->Write(Exited(0));
    return grpc::Status::OK;
  };
  EXPECT_EQ(Run({}, ExecPump::kGrace, /*clean=*/true), (ExitReport{0, "", ""}));
  EXPECT_EQ(ReadAll(out_.read.get()), "\x1b[31mred\\e]52;c;x\\x07\n\x1b[0m");
  EXPECT_EQ(ReadAll(err_.read.get()), "\x1b[31mred\\e]52;c;x\\x07\n\x1b[0m");
}

TEST_F(ExecPumpTest, SignalThatCannotBeDeliveredCancels) {
  fake_.exec = [&](grpc::ServerContext* context, Stream* stream) {
    ExecRequest request;
    stream->Read(&request);  // the start; stdin is never read
    Begin(stream);
    while (!context->IsCancelled()) std::this_thread::yield();
    return grpc::Status::CANCELLED;
  };
  ASSERT_EQ(fcntl(in_.write.get(), F_SETFL, O_NONBLOCK), 0);
  const ExitReport report = Run([&] {
    char byte;
    ASSERT_EQ(read(out_.read.get(), &byte, 1), 1);
    // Input until nobody takes any more: the stream is full, and a message waits in it.
    const std::string block(64 * 1024, 'x');
    pollfd polled = {in_.write.get(), POLLOUT, 0};
    while (poll(&polled, 1, 300) == 1)
      ASSERT_GT(write(in_.write.get(), block.data(), block.size()), 0);
    Signal(SIGTERM);
  });
  EXPECT_EQ(report, (ExitReport{128 + SIGTERM, "", ""}));
}

}  // namespace
}  // namespace odyssey::ctl
