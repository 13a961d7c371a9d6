#include "ctl/doctor/probe_exec.h"

#include <utility>

namespace odyssey::ctl {
namespace {

using supervisor::v1::ExecRequest;
using supervisor::v1::ExecResponse;

// After which a command hangs: many times what all probes of a cell take on a slow machine.
constexpr int kLongestMs = 300'000;
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
  auto stream = calls.stub.Exec({kLongestMs, calls.interrupt->fd()});
  stream.Write(StartOf(cell_id, argv, wall_clock_ms));
  ProbeExecResult result;
  for (ExecResponse response; stream.Read(&response);) {
    if (response.has_output()) {
      const bool err = response.output().stream() == supervisor::v1::OUTPUT_STREAM_STDERR;
      (err ? result.err : result.out) += response.output().data();
    }
    if (response.has_outcome()) result.outcome = response.outcome();
  }
  result.status = stream.Finish();
  return result;
}

Result<std::unique_ptr<LingeringExec>> LingeringExec::Start(const ProbeCalls& calls,
                                                            const std::string& cell_id,
                                                            const std::vector<std::string>& argv) {
  auto stream = calls.stub.Exec({.cancel_fd = calls.interrupt->fd()});
  stream.Write(StartOf(cell_id, argv, 0));
  std::string said;
  for (ExecResponse response; stream.Read(&response);) {
    if (response.has_output()) said += response.output().data();
    if (said.find("ready\n") != std::string::npos) {
      return std::unique_ptr<LingeringExec>(new LingeringExec(std::move(stream)));
    }
    if (response.has_outcome()) said += response.outcome().message();
  }
  const Status status = stream.Finish();
  return Unavailable("start " + argv[0] + ": " + said + status.message());
}

}  // namespace odyssey::ctl
