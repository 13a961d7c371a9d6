#include "ctl/image/image_cell.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "odyssey/supervisor/v1/supervisor.grpc.pb.h"
#include "tests/fakes/temporary_directory.h"

namespace odyssey::ctl {
namespace {

using supervisor::v1::ExecRequest;
using supervisor::v1::ExecResponse;
using testing::ElementsAre;
using testing::HasSubstr;
using Stream = grpc::ServerReaderWriter<ExecResponse, ExecRequest>;

// A supervisor with one cell, whose commands are a function of the test.
class FakeSupervisor final : public supervisor::v1::Supervisor::Service {
 public:
  grpc::Status PrepareCell(grpc::ServerContext*, const supervisor::v1::PrepareCellRequest* request,
                           supervisor::v1::PrepareCellResponse* response) override {
    prepared = *request;
    response->mutable_cell()->set_cell_id("cel_1");
    return grpc::Status::OK;
  }
  grpc::Status InjectFiles(grpc::ServerContext*,
                           grpc::ServerReader<supervisor::v1::InjectFilesRequest>* reader,
                           supervisor::v1::InjectFilesResponse* response) override {
    for (supervisor::v1::InjectFilesRequest message; reader->Read(&message);) {
      if (message.has_file()) files.push_back({message.file().path(), ""});
      if (message.has_file()) modes.push_back(message.file().mode());
      if (message.message_case() == supervisor::v1::InjectFilesRequest::kData) {
        files.back().second += message.data();
      }
    }
    response->set_run_id("run_1");
    return grpc::Status::OK;
  }
  grpc::Status FileOp(grpc::ServerContext*, const supervisor::v1::FileOpRequest* request,
                      supervisor::v1::FileOpResponse* response) override {
    watched_path = request->list().path();
    response->mutable_list()->add_entries()->set_size(watched);
    if (grows) ++watched;
    return grpc::Status::OK;
  }
  grpc::Status Exec(grpc::ServerContext* context, Stream* stream) override {
    ExecRequest request;
    stream->Read(&request);
    start = request.start();
    return exec(context, stream);
  }
  grpc::Status RemoveCell(grpc::ServerContext*, const supervisor::v1::RemoveCellRequest* request,
                          supervisor::v1::RemoveCellResponse*) override {
    removed = request->cell_id();
    purged = request->purge();
    return grpc::Status::OK;
  }

  supervisor::v1::PrepareCellRequest prepared;
  std::vector<std::pair<std::string, std::string>> files;
  std::vector<uint32_t> modes;
  std::atomic<uint64_t> watched = 0;
  std::atomic<bool> grows = false;
  std::string watched_path;
  supervisor::v1::ExecStart start;
  std::function<grpc::Status(grpc::ServerContext*, Stream*)> exec;
  std::string removed;
  bool purged = false;
};

void Say(Stream* stream, const std::string& data,
         supervisor::v1::OutputStream which = supervisor::v1::OUTPUT_STREAM_STDOUT) {
  ExecResponse response;
  response.mutable_output()->set_stream(which);
  response.mutable_output()->set_data(data);
  stream->Write(response);
}

grpc::Status Exit(Stream* stream, int code) {
  ExecResponse response;
  response.mutable_outcome()->set_kind(supervisor::v1::OUTCOME_KIND_EXITED);
  response.mutable_outcome()->set_exit_code(code);
  stream->Write(response);
  return grpc::Status::OK;
}

// Waits for the end of the call, as a command that says nothing does.
grpc::Status Hang(grpc::ServerContext* context, Stream* stream) {
  ExecRequest request;
  while (stream->Read(&request)) {
  }
  return context->IsCancelled() ? grpc::Status::CANCELLED : grpc::Status::OK;
}

class ImageCellTest : public testing::Test {
 protected:
  ImageCellTest() : signals_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + directory_.path() + "/sock",
                             grpc::InsecureServerCredentials());
    builder.RegisterService(&supervisor_);
    server_ = builder.BuildAndStart();
    Locations locations;
    locations.supervisor_socket = directory_.path() + "/sock";
    client_ = std::make_unique<Client>(Client::Connect(Daemon::kSupervisor, locations).value());
    cell_ = std::move(ImageCell::Prepare(client_.get(), signals_.get(), {}).value());
  }
  ~ImageCellTest() override {
    cell_.reset();
    client_.reset();
    server_->Shutdown();
  }

  fakes::TemporaryDirectory directory_;
  FakeSupervisor supervisor_;
  std::unique_ptr<grpc::Server> server_;
  UniqueFd signals_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<ImageCell> cell_;
};

TEST_F(ImageCellTest, TheCellEndsWithIt) {
  EXPECT_TRUE(supervisor_.prepared.single_use());
  EXPECT_FALSE(supervisor_.prepared.ephemeral());
  EXPECT_EQ(supervisor_.prepared.sandbox().network(), policy::v1::NETWORK_NONE);
  cell_.reset();
  EXPECT_EQ(supervisor_.removed, "cel_1");
  EXPECT_TRUE(supervisor_.purged);
}

TEST_F(ImageCellTest, FilesAreTheCellsUsersAlone) {
  ASSERT_TRUE(cell_->Put({{"a", "one"}, {"b", std::string(600'000, 'x')}}).ok());
  EXPECT_THAT(supervisor_.files,
              ElementsAre(std::pair<std::string, std::string>{"a", "one"},
                          std::pair<std::string, std::string>{"b", std::string(600'000, 'x')}));
  EXPECT_THAT(supervisor_.modes, ElementsAre(0600u, 0600u));
  EXPECT_EQ(cell_->Inbox(), "/cell/runs/run_1/inbox");
}

TEST_F(ImageCellTest, OutputComesAsItIsAndErrorsAreKept) {
  supervisor_.exec = [](grpc::ServerContext*, Stream* stream) {
    Say(stream, "o");
    Say(stream, "e", supervisor::v1::OUTPUT_STREAM_STDERR);
    Say(stream, "ut");
    return Exit(stream, 3);
  };
  std::string out;
  const auto end = cell_->Execute({.argv = {"x", "y"}}, [&](const std::string& bytes) {
    out += bytes;
    return OkStatus();
  });
  ASSERT_TRUE(end.ok()) << end.status().ToString();
  EXPECT_FALSE(end->ok());
  EXPECT_EQ(end->outcome.exit_code(), 3);
  EXPECT_EQ(out, "out");
  EXPECT_EQ(end->errors, "e");
  EXPECT_EQ(supervisor_.start.run_id(), "run_1");
  EXPECT_THAT(supervisor_.start.argv(), ElementsAre("x", "y"));
}

TEST_F(ImageCellTest, SaysWhatTheCommandWasNotToReach) {
  supervisor_.exec = [](grpc::ServerContext*, Stream* stream) {
    ExecResponse response;
    auto* const decision = response.mutable_outcome()->add_egress();
    response.mutable_outcome()->set_kind(supervisor::v1::OUTCOME_KIND_EXITED);
    decision->set_verdict(supervisor::v1::EGRESS_VERDICT_DENIED);
    decision->set_host("tokens.test");
    decision->set_port(443);
    *response.mutable_outcome()->add_egress() = *decision;
    auto* const closed = response.mutable_outcome()->add_egress();
    *closed = *decision;
    closed->set_host("inside.test");
    closed->set_code("ssrf_denied");
    response.mutable_outcome()->add_egress()->set_verdict(supervisor::v1::EGRESS_VERDICT_ALLOWED);
    stream->Write(response);
    return grpc::Status::OK;
  };
  const auto end = cell_->Execute({.argv = {"x"}}, {});
  EXPECT_THAT(end->denied, ElementsAre("tokens.test:443"));
  EXPECT_THAT(end->in_private_network, ElementsAre("inside.test:443"));
}

TEST_F(ImageCellTest, AProgramThatIsNotThereIsNamed) {
  supervisor_.exec = [](grpc::ServerContext*, Stream* stream) {
    ExecResponse response;
    response.mutable_outcome()->set_kind(supervisor::v1::OUTCOME_KIND_NOT_FOUND);
    stream->Write(response);
    return grpc::Status::OK;
  };
  EXPECT_EQ(cell_->Execute({.argv = {"skopeo"}}, {}).status(),
            NotFound("skopeo is not installed on this host"));
}

TEST_F(ImageCellTest, SilenceEndsACommand) {
  supervisor_.exec = Hang;
  const Status status =
      cell_->Execute({.argv = {"x"}, .silence = std::chrono::milliseconds(1)}, {}).status();
  EXPECT_EQ(status, Unavailable("nothing came for 1 ms"));
  EXPECT_EQ(status.detail().field, kSilenceField);
}

TEST_F(ImageCellTest, AFileThatGrowsIsNoSilenceAndHasABound) {
  supervisor_.exec = Hang;
  supervisor_.grows = true;
  std::vector<uint64_t> steps;
  const Status status = cell_
                            ->Execute({.argv = {"x"},
                                       .silence = std::chrono::milliseconds(900),
                                       .watched = "/cell/d",
                                       .most_watched = 3,
                                       .progress = [&](uint64_t bytes) { steps.push_back(bytes); }},
                                      {})
                            .status();
  EXPECT_EQ(status.code(), Code::kResourceExhausted) << status.ToString();
  EXPECT_EQ(supervisor_.watched_path, "/cell/d");
  EXPECT_THAT(steps, ElementsAre(1, 2, 3, 4));
}

TEST_F(ImageCellTest, ASignalEndsACommand) {
  supervisor_.exec = [&](grpc::ServerContext* context, Stream* stream) {
    const uint64_t one = 1;
    EXPECT_EQ(write(signals_.get(), &one, sizeof(one)), static_cast<ssize_t>(sizeof(one)));
    return Hang(context, stream);
  };
  EXPECT_EQ(cell_->Execute({.argv = {"x"}}, {}).status().code(), Code::kCancelled);
}

TEST_F(ImageCellTest, AFileHasTheSizeThatWasSaid) {
  supervisor_.exec = [](grpc::ServerContext*, Stream* stream) {
    Say(stream, "12");
    Say(stream, "345");
    return Exit(stream, 0);
  };
  std::string out;
  const ByteSink sink = [&](const std::string& bytes) {
    out += bytes;
    return OkStatus();
  };
  EXPECT_TRUE(cell_->Fetch("/f", 5, sink).ok());
  EXPECT_EQ(out, "12345");
  EXPECT_THAT(supervisor_.start.argv(), ElementsAre("cat", "--", "/f"));
  EXPECT_THAT(cell_->Fetch("/f", 4, sink).message(), HasSubstr("more than the 4 bytes"));
  EXPECT_THAT(cell_->Fetch("/f", 6, sink).message(), HasSubstr("has 5 bytes"));
  EXPECT_EQ(cell_->ReadSmall("/f", 5).value(), "12345");
  EXPECT_EQ(cell_->ReadSmall("/f", 4).status().code(), Code::kResourceExhausted);
}

TEST_F(ImageCellTest, AStreamIsACommandsStdin) {
  int fds[2];
  ASSERT_EQ(pipe2(fds, O_CLOEXEC), 0);
  UniqueFd in(fds[0]);
  {
    UniqueFd out(fds[1]);
    ASSERT_EQ(write(out.get(), "bytes", 5), 5);
  }
  std::string got;
  supervisor_.exec = [&](grpc::ServerContext*, Stream* stream) {
    for (ExecRequest request; stream->Read(&request);) {
      if (request.message_case() == ExecRequest::kStdinEof) return Exit(stream, 0);
      got += request.stdin();
    }
    return Exit(stream, 1);
  };
  uint64_t sent = 0;
  const Status status = cell_->PutStream("archive", in.get(), [&](uint64_t n) { sent = n; });
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_EQ(got, "bytes");
  EXPECT_EQ(sent, 5u);
  EXPECT_TRUE(supervisor_.start.open_stdin());
}

}  // namespace
}  // namespace odyssey::ctl
