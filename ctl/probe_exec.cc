#include "ctl/probe_exec.h"

#include <chrono>

namespace odyssey::ctl {
namespace {

using supervisor::v1::ExecRequest;
using supervisor::v1::ExecResponse;

// After which a command hangs: many times what all probes of a cell take on a slow machine.
constexpr std::chrono::minutes kLongest{5};
constexpr size_t kMostOutput = 8 << 20;

ExecRequest StartOf(const std::string& cell_id, const std::vector<std::string>& argv,
                    uint32_t wall_clock_ms) {
  ExecRequest request;
  request.mutable_start()->set_cell_id(cell_id);
  for (const std::string& word : argv) request.mutable_start()->add_argv(word);
  request.mutable_start()->set_wall_clock_ms(wall_clock_ms);
  request.mutable_start()->set_stdout_cap_bytes(kMostOutput);
  request.mutable_start()->set_stderr_cap_bytes(kMostOutput);
  return request;
}

}  // namespace

ProbeExecResult RunProbeExec(const ProbeCalls& calls, const std::string& cell_id,
                             const std::vector<std::string>& argv, uint32_t wall_clock_ms) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kLongest);
  const ProbeInterrupt::Call call(calls.interrupt, &context);
  const auto stream = calls.stub->Exec(&context);
  stream->Write(StartOf(cell_id, argv, wall_clock_ms));
  ProbeExecResult result;
  for (ExecResponse response; stream->Read(&response);) {
    if (response.has_output()) {
      const bool err = response.output().stream() == supervisor::v1::OUTPUT_STREAM_STDERR;
      (err ? result.err : result.out) += response.output().data();
    }
    if (response.has_outcome()) result.outcome = response.outcome();
  }
  result.status = stream->Finish();
  return result;
}

Result<std::unique_ptr<LingeringExec>> LingeringExec::Start(const ProbeCalls& calls,
                                                            const std::string& cell_id,
                                                            const std::vector<std::string>& argv) {
  std::unique_ptr<LingeringExec> exec(new LingeringExec(calls.interrupt));
  exec->stream_ = calls.stub->Exec(&exec->context_);
  exec->stream_->Write(StartOf(cell_id, argv, 0));
  std::string said;
  for (ExecResponse response; exec->stream_->Read(&response);) {
    if (response.has_output()) said += response.output().data();
    if (said.find("ready\n") != std::string::npos) return exec;
    if (response.has_outcome()) said += response.outcome().message();
  }
  const grpc::Status status = exec->stream_->Finish();
  exec->stream_.reset();
  return Unavailable("start " + argv[0] + ": " + said + status.error_message());
}

LingeringExec::~LingeringExec() {
  if (!stream_) return;
  context_.TryCancel();
  for (ExecResponse response; stream_->Read(&response);) {
  }
  (void)stream_->Finish();  // CANCELLED, as asked
}

}  // namespace odyssey::ctl
