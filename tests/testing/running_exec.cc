#include "tests/testing/running_exec.h"

#include <chrono>

namespace odyssey::testing {
namespace {

v1::ExecStart ShellStart(const std::string& cell_id, const std::string& script) {
  v1::ExecStart start;
  start.set_cell_id(cell_id);
  for (const char* word : {"/bin/sh", "-c", script.c_str()}) start.add_argv(word);
  return start;
}

}  // namespace

RunningExec::RunningExec(v1::Supervisor::Stub* stub, const v1::ExecStart& start) {
  context_.set_deadline(std::chrono::system_clock::now() + 2 * kHang);
  stream_ = stub->Exec(&context_);
  v1::ExecRequest request;
  *request.mutable_start() = start;
  stream_->Write(request);
}

RunningExec::RunningExec(v1::Supervisor::Stub* stub, const std::string& cell_id,
                         const std::string& script)
    : RunningExec(stub, ShellStart(cell_id, script)) {}

RunningExec::~RunningExec() {
  if (finished_) return;
  Cancel();
  Finish();
}

bool RunningExec::ReadOne() {
  v1::ExecResponse response;
  if (!stream_->Read(&response)) return false;
  if (response.has_output()) {
    const bool err = response.output().stream() == v1::OUTPUT_STREAM_STDERR;
    (err ? result_.err : result_.out) += response.output().data();
  }
  if (response.has_denial()) result_.denials.push_back(response.denial());
  if (response.has_outcome()) result_.outcome = response.outcome();
  return true;
}

bool RunningExec::ReadUntil(const std::string& text) {
  while (result_.out.find(text) == std::string::npos) {
    if (!ReadOne()) return false;
  }
  return true;
}

ExecResult RunningExec::Finish() {
  while (ReadOne()) {
  }
  const grpc::Status status = stream_->Finish();
  finished_ = true;
  result_.status = Status(static_cast<Code>(status.error_code()), status.error_message());
  return result_;
}

bool EndedUnderIt(const ExecResult& result) {
  if (!result.status.ok()) return result.status.code() == Code::kUnavailable;
  return result.outcome.kind() == v1::OUTCOME_KIND_SETUP_FAILED &&
         !result.outcome.message().empty();
}

}  // namespace odyssey::testing
