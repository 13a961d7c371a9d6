#include "supervisor/rpc/exec_denials.h"

#include <signal.h>

#include <algorithm>

#include "policy/explain/refused_call.h"
#include "policy/plan/plan.h"

namespace odyssey::supervisor {
namespace {

using explain::Access;
using explain::Denial;
using explain::kFromKernel;
using explain::Limit;

// Before the file worker's own words.
constexpr char kFilePolicy[] = "policy: ";
constexpr uint64_t kMicroseconds = 1'000'000;

// The kernel's signal at the limit says nothing else, but anybody may send it: the time must be
// used up too. The two clocks differ by a tick or two; the kernel counts each process by itself, so
// a command of several may have used more.
bool UsedUpItsTime(const ExecOptions& options, const Outcome& outcome) {
  constexpr int kShellBase = 128;
  const auto ended_by = [&](int signal) {
    return (outcome.kind == OutcomeKind::kSignalled && outcome.signal == signal) ||
           (outcome.kind == OutcomeKind::kExited && outcome.exit_code == kShellBase + signal);
  };
  return options.spec.cpu_seconds != 0 && (ended_by(SIGXCPU) || ended_by(SIGKILL)) &&
         outcome.user_usec + outcome.system_usec >=
             options.spec.cpu_seconds * kMicroseconds / 10 * 9;
}

// The command itself, by the name that it was started with.
std::string ProcessOf(const ExecOptions& options, const Outcome& outcome) {
  const std::string& name = options.spec.argv[0];
  return explain::ProcessText(name.substr(name.rfind('/') + 1).substr(0, cell::kMaxComm),
                              outcome.pid);
}

Denial Of(std::string process, Denial denial) {
  denial.process = std::move(process);
  return denial;
}

Denial CutOutput(const char* stream, uint64_t cap) {
  return {"limit", stream, "exceed",   "policy output_bytes " + std::to_string(cap),
          "",      "",     kFromKernel};
}

void AddLimits(const explain::Cell& cell, const ExecOptions& options, const Outcome& outcome,
               std::vector<Denial>* out) {
  const std::string process = ProcessOf(options, outcome);
  if (outcome.kind == OutcomeKind::kTimedOut) {
    out->push_back(Of(process, explain::LimitDenial(cell, Limit::kWallClock, options.wall_clock_ms,
                                                    kFromKernel)));
  }
  if (outcome.kind == OutcomeKind::kOomKilled) {
    out->push_back(explain::LimitDenial(cell, Limit::kMemory, 0, kFromKernel));
  }
  if (outcome.pids_refused > 0) {
    out->push_back(explain::LimitDenial(cell, Limit::kPids, 0, kFromKernel));
    out->back().count = outcome.pids_refused;
  }
  if (UsedUpItsTime(options, outcome)) {
    out->push_back(Of(process, explain::LimitDenial(cell, Limit::kCpuSeconds,
                                                    options.spec.cpu_seconds, kFromKernel)));
  }
  if (outcome.stdout_truncated) out->push_back(CutOutput("stdout", options.stdout_cap));
  if (outcome.stderr_truncated) out->push_back(CutOutput("stderr", options.stderr_cap));
}

// What the kernel answered to execve.
void AddExecution(const explain::Cell& cell, const ExecOptions& options, const Outcome& outcome,
                  std::vector<Denial>* out) {
  const std::string& name = options.spec.argv[0];
  const bool named_only = cell.request.executables_mode == policy::ExecutablesMode::kExplicit;
  const bool unlisted =
      outcome.kind == OutcomeKind::kNotFound && named_only && name.find('/') == std::string::npos;
  if (outcome.kind != OutcomeKind::kDenied && !unlisted) return;
  out->push_back(Of(ProcessOf(options, outcome),
                    explain::ExecuteDenial(cell, options.spec.cwd, name, kFromKernel)));
}

bool Failed(const Outcome& outcome) {
  return outcome.kind == OutcomeKind::kSignalled || outcome.kind == OutcomeKind::kTimedOut ||
         outcome.kind == OutcomeKind::kOomKilled ||
         (outcome.kind == OutcomeKind::kExited && outcome.exit_code != 0);
}

bool IsSameThing(const Denial& a, const Denial& b) {
  return a.kind == b.kind && a.resource == b.resource && a.rule == b.rule;
}

}  // namespace

std::vector<Denial> FindDenials(const explain::Cell& cell, const ExecOptions& options,
                                const Outcome& outcome, std::string_view stderr_tail) {
  std::vector<Denial> out;
  AddLimits(cell, options, outcome, &out);
  if (cell.compiled.unconfined) return out;  // what else was refused, the host refused its user
  AddExecution(cell, options, outcome, &out);
  for (const cell::RefusedCall& call : outcome.refused_calls) {
    out.push_back(explain::CallDenial(call));
  }
  if (!Failed(outcome)) return out;
  const auto complaints = explain::ParseComplaints(stderr_tail);
  for (Denial& denial : explain::JudgeComplaints(cell, options.spec.cwd, complaints)) {
    const bool known = std::any_of(out.begin(), out.end(),
                                   [&](const Denial& d) { return IsSameThing(d, denial); });
    if (!known) out.push_back(std::move(denial));
  }
  return out;
}

Denial FindFileDenial(const explain::Cell& cell, const tool::Request& request,
                      const tool::Response& response) {
  const bool writes = request.op == tool::Op::kWrite || request.op == tool::Op::kEdit;
  const Access access = writes ? Access::kWrite : Access::kRead;
  const std::string path = explain::ResolveInCell(cell, plan::kWorkspacePath, request.path);
  explain::Answer answer = explain::ExplainPath(cell, path, access);
  if (answer.allowed) answer = {false, kFilePolicy + response.error, ""};
  return explain::PathDenial(path, access, answer, kFromKernel);
}

std::string DescribeFileError(const tool::Response& response, const std::optional<Denial>& denial) {
  if (!denial || denial->rule.rfind(kFilePolicy, 0) == 0) return response.error;
  const std::string error = response.error + " (" + denial->rule + ")";
  return denial->grant.empty() ? error : error + "; to allow: " + denial->grant;
}

}  // namespace odyssey::supervisor
