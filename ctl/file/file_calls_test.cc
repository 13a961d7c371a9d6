#include "ctl/file/file_calls.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>

#include "odyssey/supervisor/v1/supervisor.grpc.pb.h"

namespace odyssey::ctl {
namespace {

namespace fs = std::filesystem;
using supervisor::v1::CollectFilesRequest;
using supervisor::v1::CollectFilesResponse;
using supervisor::v1::InjectFilesRequest;
using supervisor::v1::InjectFilesResponse;

// Takes what comes, and answers CollectFiles with what the test says.
class FakeSupervisor final : public supervisor::v1::Supervisor::Service {
 public:
  grpc::Status InjectFiles(grpc::ServerContext*, grpc::ServerReader<InjectFilesRequest>* reader,
                           InjectFilesResponse* response) override {
    for (InjectFilesRequest message; reader->Read(&message);) {
      if (message.has_start()) start = message.start();
      if (message.has_file()) put.push_back({message.file(), ""});
      if (message.message_case() == InjectFilesRequest::kData) put.back().second += message.data();
    }
    response->set_run_id("run_1");
    return inject_status;
  }
  grpc::Status CollectFiles(grpc::ServerContext*, const CollectFilesRequest*,
                            grpc::ServerWriter<CollectFilesResponse>* writer) override {
    for (const CollectFilesResponse& message : outbox) writer->Write(message);
    return grpc::Status::OK;
  }

  supervisor::v1::InjectStart start;
  std::vector<std::pair<supervisor::v1::InjectFile, std::string>> put;
  grpc::Status inject_status;
  std::vector<CollectFilesResponse> outbox;
};

CollectFilesResponse Head(const std::string& path, uint64_t size, const std::string& skipped = "") {
  CollectFilesResponse message;
  message.mutable_file()->set_path(path);
  message.mutable_file()->set_size(size);
  message.mutable_file()->set_mode(0640);
  message.mutable_file()->set_skipped(skipped);
  return message;
}

CollectFilesResponse Data(const std::string& data) {
  CollectFilesResponse message;
  message.set_data(data);
  return message;
}

class FileCallsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "file_calls_XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    base_ = name;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + base_ + "/sock", grpc::InsecureServerCredentials());
    builder.RegisterService(&supervisor_);
    server_ = builder.BuildAndStart();
    stub_.emplace(std::make_shared<rpc::H2Channel>(base_ + "/sock"));
  }
  void TearDown() override {
    stub_.reset();  // a server that ends waits for idle connections
    server_->Shutdown();
    fs::remove_all(base_);
  }

  std::string In(const std::string& name) const { return base_ + "/" + name; }
  std::string Text(const std::string& name) const {
    std::ifstream in(In(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  // "path" or "path: why not" of each file.
  std::vector<std::string> GetAll() {
    auto destination = Destination::Open(In("out"));
    std::vector<GotFile> files;
    EXPECT_TRUE(GetFiles(*stub_, {}, {}, &*destination, &files).ok());
    std::vector<std::string> out;
    for (const GotFile& file : files) {
      const std::string why = file.skipped + file.status.message();
      out.push_back(why.empty() ? file.path : file.path + ": " + why);
    }
    return out;
  }

  FakeSupervisor supervisor_;
  std::unique_ptr<grpc::Server> server_;
  std::optional<supervisor::v1::SupervisorStub> stub_;
  std::string base_;
};

TEST_F(FileCallsTest, PutsFilesWithNamesModesAndContents) {
  std::ofstream(In("small")) << "text";
  std::ofstream(In("large")) << std::string(1'000'000, 'x');
  fs::permissions(In("small"), fs::perms::owner_all);
  Status local;
  InjectFilesResponse response;
  const Result<FilesToPut> chosen = ChooseFiles({In("small"), In("large")});
  ASSERT_TRUE(chosen.ok()) << chosen.status().ToString();
  ASSERT_TRUE(PutFiles(*stub_, {}, {"cel_1", "run_9", chosen->files}, &local, &response).ok());
  EXPECT_EQ(supervisor_.start.cell_id() + supervisor_.start.run_id(), "cel_1run_9");
  ASSERT_EQ(supervisor_.put.size(), 2u);
  EXPECT_EQ(supervisor_.put[0].first.path(), "small");
  EXPECT_EQ(supervisor_.put[0].first.mode(), 0700u);
  EXPECT_EQ(supervisor_.put[0].second, "text");
  EXPECT_EQ(supervisor_.put[1].second.size(), 1'000'000u);
  EXPECT_EQ(response.run_id(), "run_1");
}

TEST_F(FileCallsTest, AFileThatCannotBeReadEndsTheCall) {
  Status local;
  InjectFilesResponse response;
  std::ofstream(In("file")) << "text";
  Result<FilesToPut> chosen = ChooseFiles({In("file")});
  ASSERT_TRUE(chosen.ok()) << chosen.status().ToString();
  chosen->files[0].place = std::make_shared<const NamedPlace>(*OpenNamedPlace(base_));
  const Status status = PutFiles(*stub_, {}, {"cel_1", "", chosen->files}, &local, &response);
  EXPECT_EQ(status.code(), Code::kCancelled);
  EXPECT_EQ(local.code(), Code::kInvalidArgument);
}

TEST_F(FileCallsTest, GetsFilesAndSaysWhatIsSkipped) {
  supervisor_.outbox = {Head("d/f", 6), Data("one"), Data("two"), Head("empty", 0),
                        Head("link", 0, "symbolic link")};
  EXPECT_EQ(GetAll(), (std::vector<std::string>{"d/f", "empty", "link: symbolic link"}));
  EXPECT_EQ(Text("out/d/f"), "onetwo");
  EXPECT_TRUE(fs::exists(In("out/empty")));
  EXPECT_FALSE(fs::exists(In("out/link")));
}

// A cell says anything: nothing is written outside, over something, or in part.
TEST_F(FileCallsTest, BelievesNothingThatComesOutOfACell) {
  fs::create_directory(In("out"));
  std::ofstream(In("out/mine")) << "before";
  supervisor_.outbox = {
      Head("../evil", 1), Data("x"),       Head("/tmp/evil", 1), Data("x"),        Head("mine", 1),
      Data("x"),          Head("long", 2), Data("xxx"),          Head("short", 2), Data("x"),
      Data("y"),          Data("z"),       Head("cut", 5),       Data("x"),        Head("good", 4),
      Data("fine")};
  const std::vector<std::string> got = GetAll();
  ASSERT_EQ(got.size(), 7u);
  for (size_t i = 0; i + 1 < got.size(); ++i) EXPECT_NE(got[i].find(": "), std::string::npos);
  EXPECT_EQ(got.back(), "good");
  EXPECT_EQ(Text("out/mine"), "before");
  EXPECT_EQ(Text("out/good"), "fine");
  EXPECT_FALSE(fs::exists(In("evil")));
  size_t entries = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(In("out"))) ++entries;
  EXPECT_EQ(entries, 2u);
}

TEST_F(FileCallsTest, DataBeforeAnyFileIsNobodys) {
  supervisor_.outbox = {Data("x"), Head("f", 1), Data("y")};
  EXPECT_EQ(GetAll(), std::vector<std::string>{"f"});
  EXPECT_EQ(Text("out/f"), "y");
}

}  // namespace
}  // namespace odyssey::ctl
