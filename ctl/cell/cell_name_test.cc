#include "ctl/cell/cell_name.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "odyssey/supervisor/v1/supervisor.grpc.pb.h"
#include "tests/fakes/temporary_directory.h"

namespace odyssey::ctl {
namespace {

class CellNameTest : public ::testing::Test, public supervisor::v1::Supervisor::Service {
 protected:
  void SetUp() override {
    const std::string socket = directory_.path() + "/socket";
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + socket, grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
    stub_.emplace(std::make_shared<rpc::H2Channel>(socket));
  }
  void TearDown() override {
    stub_.reset();  // a server that ends waits for idle connections
    server_->Shutdown();
  }

  grpc::Status ListCells(grpc::ServerContext*, const supervisor::v1::ListCellsRequest*,
                         supervisor::v1::ListCellsResponse* response) override {
    *response = cells_;
    return grpc::Status::OK;
  }

  void Add(const std::string& id, const supervisor::v1::CellKey& key) {
    cells_.add_cells()->set_cell_id(id);
    *cells_.mutable_cells(cells_.cells_size() - 1)->mutable_key() = key;
  }
  // The id, or the error.
  std::string Find(const std::string& word) {
    std::string id;
    const Status status = FindCell(*stub_, word, &id);
    return status.ok() ? id : status.message();
  }

 private:
  fakes::TemporaryDirectory directory_;
  supervisor::v1::ListCellsResponse cells_;
  std::unique_ptr<grpc::Server> server_;
  std::optional<supervisor::v1::SupervisorStub> stub_;
};

TEST_F(CellNameTest, IsAnIdOrWhatExecCalledTheCell) {
  Add("cel_1", KeyOfCommand("build"));
  Add("cel_2", KeyOfCommand("cel_1"));
  supervisor::v1::CellKey tooling = KeyOfCommand("tools");
  tooling.set_session_id("ses_1");
  Add("cel_3", tooling);
  EXPECT_EQ(Find("build"), "cel_1");
  EXPECT_EQ(Find("cel_2"), "cel_2");
  EXPECT_EQ(Find("cel_1"), "cel_1") << "an id before a name";
  EXPECT_EQ(Find("tools"), "tools") << "of an agent's tools it is no name";
  EXPECT_EQ(Find("cel_9"), "cel_9") << "the supervisor says that there is none";
}

TEST_F(CellNameTest, IsNoneIfSeveralHaveIt) {
  Add("cel_1", KeyOfCommand("build"));
  Add("cel_2", KeyOfCommand("build"));
  EXPECT_EQ(Find("build"), "several cells are called \"build\": cel_1, cel_2; give one of these");
  EXPECT_EQ(Find("cel_2"), "cel_2");
}

}  // namespace
}  // namespace odyssey::ctl
