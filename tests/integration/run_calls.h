#ifndef ODYSSEY_TESTS_INTEGRATION_RUN_CALLS_H_
#define ODYSSEY_TESTS_INTEGRATION_RUN_CALLS_H_

// A cell, and calls about the runs of its commands.

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/integration/cell_probe.h"

namespace odyssey::testing {

// A file of CollectFiles.
struct Collected {
  std::string content;
  uint32_t mode = 0;
  std::string skipped;
};

class RunsTest : public ::testing::Test {
 protected:
  RunsTest() : cell_(supervisor_.Cell()) {}

  struct File {
    std::string path, content;
    uint32_t mode = 0;
  };
  // The status of the call, and the run.
  std::pair<Status, std::string> Inject(const std::vector<File>& files,
                                        const std::string& run_id = "") {
    grpc::ClientContext context;
    v1::InjectFilesResponse response;
    const auto writer = supervisor_.stub()->InjectFiles(&context, &response);
    v1::InjectFilesRequest request;
    request.mutable_start()->set_cell_id(cell_);
    request.mutable_start()->set_run_id(run_id);
    writer->Write(request);
    for (const File& file : files) {
      request.mutable_file()->set_path(file.path);
      request.mutable_file()->set_mode(file.mode);
      writer->Write(request);
      for (size_t at = 0; at < file.content.size(); at += 1 << 20) {
        request.set_data(file.content.substr(at, 1 << 20));
        writer->Write(request);
      }
    }
    writer->WritesDone();
    const grpc::Status status = writer->Finish();
    return {Status(static_cast<Code>(status.error_code()), status.error_message()),
            response.run_id()};
  }

  std::map<std::string, Collected> Collect(const std::string& run_id) {
    grpc::ClientContext context;
    v1::CollectFilesRequest request;
    request.set_cell_id(cell_);
    request.set_run_id(run_id);
    const auto reader = supervisor_.stub()->CollectFiles(&context, request);
    std::map<std::string, Collected> files;
    Collected* last = nullptr;
    for (v1::CollectFilesResponse response; reader->Read(&response);) {
      if (response.has_file()) {
        last = &files[response.file().path()];
        last->mode = response.file().mode();
        last->skipped = response.file().skipped();
      } else if (last != nullptr) {
        last->content += response.data();
      }
    }
    const grpc::Status status = reader->Finish();
    collect_status_ = Status(static_cast<Code>(status.error_code()), status.error_message());
    return files;
  }

  ExecResult Shell(const std::string& script, const ExecOptions& options = {}) {
    return supervisor_.Shell(cell_, script, options);
  }
  // Names in the directory of runs.
  std::set<std::string> Runs() {
    const ExecResult listed = Shell("ls -A /cell/runs");
    EXPECT_TRUE(listed.Exited(0)) << listed.ToString();
    const auto lines = Lines(listed.out);
    return {lines.begin(), lines.end()};
  }
  void UseDiskCell(const std::string& component = "disk") {
    auto request = SupervisorHarness::Request(component);
    request.set_ephemeral(false);
    cell_ = supervisor_.Cell(request);
  }

  SupervisorHarness supervisor_;
  std::string cell_;
  Status collect_status_;
};

}  // namespace odyssey::testing

#endif  // ODYSSEY_TESTS_INTEGRATION_RUN_CALLS_H_
