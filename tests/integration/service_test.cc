// The services around commands: information about the host and the cells.

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "common/os/file.h"
#include "tests/testing/supervisor_harness.h"

namespace odyssey::testing {
namespace {

class ServiceTest : public ::testing::Test {
 protected:
  SupervisorHarness supervisor_;
};

TEST_F(ServiceTest, TellsWhatTheHostOffers) {
  grpc::ClientContext context;
  v1::GetInfoResponse info;
  ASSERT_TRUE(supervisor_.stub()->GetInfo(&context, {}, &info).ok());
  EXPECT_FALSE(info.version().empty());
  EXPECT_GT(info.max_cells(), 0u);
  EXPECT_GT(info.default_limits().memory_bytes(), 0u);
  for (const std::string name : {"landlock", "seccomp", "cgroup", "namespaces"}) {
    const auto feature = std::find_if(info.features().begin(), info.features().end(),
                                      [&name](const auto& f) { return f.name() == name; });
    ASSERT_NE(feature, info.features().end()) << name;
    EXPECT_TRUE(feature->in_force()) << feature->ShortDebugString();
  }
}

TEST_F(ServiceTest, DescribesACellWithItsPlanAndItsUse) {
  auto request = SupervisorHarness::Request("described");
  request.mutable_sandbox()->mutable_limits()->set_pids(77);
  const std::string cell = supervisor_.Cell(request);
  ASSERT_TRUE(supervisor_.Shell(cell, "true").Exited(0));

  grpc::ClientContext context;
  v1::DescribeCellRequest describe;
  describe.set_cell_id(cell);
  v1::DescribeCellResponse described;
  ASSERT_TRUE(supervisor_.stub()->DescribeCell(&context, describe, &described).ok());
  EXPECT_EQ(described.cell().key().component(), "described");
  EXPECT_GT(described.cell().processes(), 0u);
  EXPECT_GT(described.cell().memory_bytes(), 0u);
  EXPECT_GT(described.cell().cpu_usec(), 0u);
  const auto tells_limit = [](const std::string& line) {
    return line.find("pids 77") != std::string::npos;
  };
  EXPECT_TRUE(std::any_of(described.plan().begin(), described.plan().end(), tells_limit));

  grpc::ClientContext list_context;
  v1::ListCellsResponse cells;
  ASSERT_TRUE(supervisor_.stub()->ListCells(&list_context, {}, &cells).ok());
  ASSERT_EQ(cells.cells_size(), 1);
  EXPECT_EQ(cells.cells(0).cell_id(), cell);
}

TEST_F(ServiceTest, EndsASingleUseCellWithItsCommand) {
  auto request = SupervisorHarness::Request("once");
  request.set_single_use(true);
  const auto cell = supervisor_.Prepare(request);
  ASSERT_TRUE(cell.ok()) << cell.status().ToString();
  ASSERT_TRUE(supervisor_.Shell(cell->cell_id(), "true").Exited(0));
  EXPECT_TRUE(Eventually([&] { return SupervisorHarness::ProcessesOf(cell->host_uid()).empty(); }));
}

TEST_F(ServiceTest, EndsASingleUseCellWhoseClientIsGone) {
  auto request = SupervisorHarness::Request("abandoned");
  request.set_single_use(true);
  const auto cell = supervisor_.Prepare(request);
  ASSERT_TRUE(cell.ok()) << cell.status().ToString();
  {
    grpc::ClientContext context;
    const auto stream = supervisor_.stub()->Exec(&context);
    v1::ExecRequest start;
    start.mutable_start()->set_cell_id(cell->cell_id());
    start.mutable_start()->add_argv("sleep");
    start.mutable_start()->add_argv("1000");
    ASSERT_TRUE(stream->Write(start));
    v1::ExecResponse started;
    ASSERT_TRUE(stream->Read(&started));
    context.TryCancel();
    EXPECT_FALSE(stream->Finish().ok());
  }
  EXPECT_TRUE(Eventually([&] { return SupervisorHarness::ProcessesOf(cell->host_uid()).empty(); }));
}

TEST_F(ServiceTest, ACancelledCommandHasNoProcessLeftWhenItsCallEnds) {
  const auto cell = supervisor_.Prepare(SupervisorHarness::Request("cancelled"));
  ASSERT_TRUE(cell.ok()) << cell.status().ToString();
  grpc::ClientContext context;
  const auto stream = supervisor_.stub()->Exec(&context);
  v1::ExecRequest start;
  start.mutable_start()->set_cell_id(cell->cell_id());
  for (const char* word : {"sh", "-c", "sleep 4747 & sleep 4747 & echo go; sleep 4747"}) {
    start.mutable_start()->add_argv(word);
  }
  ASSERT_TRUE(stream->Write(start));
  v1::ExecResponse response;
  v1::CancelExecRequest request;
  while (!response.has_output() && stream->Read(&response)) {
    if (response.has_started()) request.set_exec_id(response.started().exec_id());
  }
  v1::CancelExecResponse unused;
  grpc::ClientContext cancel;
  ASSERT_TRUE(supervisor_.stub()->CancelExec(&cancel, request, &unused).ok());
  while (stream->Read(&response)) continue;
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(response.outcome().kind(), v1::OUTCOME_KIND_CANCELLED);
  for (const pid_t pid : SupervisorHarness::ProcessesOf(cell->host_uid())) {
    const auto line = ReadFile("/proc/" + std::to_string(pid) + "/cmdline", 4096);
    EXPECT_TRUE(!line.ok() || line->find("4747") == std::string::npos) << *line;
  }
  grpc::ClientContext again;
  EXPECT_EQ(supervisor_.stub()->CancelExec(&again, request, &unused).error_code(),
            grpc::StatusCode::NOT_FOUND);
}

TEST_F(ServiceTest, KnowsNoCellThatWasRemoved) {
  const std::string cell = supervisor_.Cell();
  ASSERT_TRUE(supervisor_.Remove(cell).ok());
  EXPECT_EQ(supervisor_.Remove(cell).code(), Code::kNotFound);
  EXPECT_EQ(supervisor_.Shell(cell, "true").status.code(), Code::kNotFound);
}

}  // namespace
}  // namespace odyssey::testing
