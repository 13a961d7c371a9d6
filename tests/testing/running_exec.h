#ifndef ODYSSEY_TESTS_TESTING_RUNNING_EXEC_H_
#define ODYSSEY_TESTS_TESTING_RUNNING_EXEC_H_

// A command that a test has started and that goes on while the test does other things.

#include <grpcpp/grpcpp.h>

#include <memory>
#include <string>

#include "tests/testing/supervisor_harness.h"

namespace odyssey::testing {

class RunningExec final {
 public:
  RunningExec(v1::Supervisor::Stub* stub, const v1::ExecStart& start);
  // sh -c in the cell.
  RunningExec(v1::Supervisor::Stub* stub, const std::string& cell_id, const std::string& script);
  // Cancels it, if it still runs.
  ~RunningExec();
  RunningExec(const RunningExec&) = delete;
  RunningExec& operator=(const RunningExec&) = delete;

  // Reads until stdout has `text`. False if the command ended before.
  bool ReadUntil(const std::string& text);
  bool Send(const v1::ExecRequest& request) { return stream_->Write(request); }
  void Cancel() { context_.TryCancel(); }
  // Reads the rest, and how it ended.
  ExecResult Finish();

 private:
  bool ReadOne();

  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::ExecRequest, v1::ExecResponse>> stream_;
  ExecResult result_;
  bool finished_ = false;
};

// True if the call ended as one may when its cell or its supervisor ends under it: with an outcome
// that says so, or UNAVAILABLE.
bool EndedUnderIt(const ExecResult& result);

}  // namespace odyssey::testing

#endif  // ODYSSEY_TESTS_TESTING_RUNNING_EXEC_H_
