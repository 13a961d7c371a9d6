#include "supervisor/rpc/exec_denials.h"

#include <signal.h>

#include <algorithm>
#include <set>

#include "policy/explain/hint.h"
#include "policy/explain/refused_call.h"
#include "policy/plan/plan.h"

namespace odyssey::supervisor {
namespace {

using explain::Access;
using explain::Denial;
using explain::Limit;

constexpr char kFileWorker[] = "file worker";
constexpr uint64_t kMicroseconds = 1'000'000;

// The kernel's signal at the limit says nothing else, but anybody may send it: the time must be
// used up too. The limit counts whole ticks and the usage what was run of them, which is less where
// others run as well; the kernel counts each process by itself, so a command of several may have
// used more.
bool UsedUpItsTime(const ExecOptions& options, const Outcome& outcome) {
  constexpr int kShellBase = 128;
  const auto ended_by = [&](int signal) {
    return (outcome.sent.kind() == v1::OUTCOME_KIND_SIGNALLED && outcome.sent.signal() == signal) ||
           (outcome.sent.kind() == v1::OUTCOME_KIND_EXITED &&
            outcome.sent.exit_code() == kShellBase + signal);
  };
  return options.spec.cpu_seconds != 0 && (ended_by(SIGXCPU) || ended_by(SIGKILL)) &&
         outcome.sent.user_usec() + outcome.sent.system_usec() >=
             options.spec.cpu_seconds * kMicroseconds / 4 * 3;
}

// The command itself, by the name that it was started with.
std::string ProcessOf(const ExecOptions& options, const Outcome& outcome) {
  const std::string& name = options.spec.argv[0];
  const std::string comm = name.substr(name.rfind('/') + 1).substr(0, cell::kMaxComm);
  return outcome.pid == 0 ? comm : explain::ProcessText(comm, outcome.pid);
}

// Where only the command as a whole is known, it is that.
void NameTheCommand(const std::string& command, std::vector<Denial>* denials) {
  for (Denial& denial : *denials) {
    if (denial.process.empty()) denial.process = command;
  }
}

Denial CutOutput(const char* stream, uint64_t cap, uint64_t bytes) {
  return {.kind = "limit",
          .resource = stream,
          .access = "exceed",
          .rule = "policy output_bytes " + std::to_string(cap),
          .grant = bytes > policy::kMaxOutputBytes
                       ? ""
                       : "sandbox.resources.output_bytes: " + std::to_string(bytes),
          .verdict = explain::kCut};
}

void AddLimits(const explain::Cell& cell, const ExecOptions& options, const Outcome& outcome,
               std::vector<Denial>* out) {
  const auto add = [&](Limit limit, uint64_t value) {
    out->push_back(explain::LimitDenial(cell, limit, value));
  };
  if (outcome.sent.kind() == v1::OUTCOME_KIND_TIMED_OUT)
    add(Limit::kWallClock, options.wall_clock_ms);
  if (outcome.sent.kind() == v1::OUTCOME_KIND_OOM_KILLED || outcome.sent.oom_kills() > 0) {
    add(Limit::kMemory, 0);
    out->back().count = std::max(outcome.sent.oom_kills(), 1u);
  }
  if (outcome.pids_refused > 0 || outcome.never_forked) {
    add(Limit::kPids, 0);
    out->back().count = std::max<uint64_t>(outcome.pids_refused, 1);
  }
  if (UsedUpItsTime(options, outcome)) add(Limit::kCpuSeconds, options.spec.cpu_seconds);
  std::set<Limit> full;
  for (const std::string& place : outcome.full) {
    const auto limit = explain::SpaceLimitAt(cell, place);
    if (limit && full.insert(*limit).second) add(*limit, 0);
  }
  if (outcome.sent.stdout_truncated()) {
    out->push_back(CutOutput("stdout", options.stdout_cap, outcome.sent.stdout_bytes()));
  }
  if (outcome.sent.stderr_truncated()) {
    out->push_back(CutOutput("stderr", options.stderr_cap, outcome.sent.stderr_bytes()));
  }
}

// What the kernel answered to execve.
void AddExecution(const explain::Cell& cell, const explain::Command& command,
                  const Outcome& outcome, std::vector<Denial>* out) {
  if (outcome.sent.kind() == v1::OUTCOME_KIND_DENIED) {
    out->push_back(explain::ExecuteDenial(cell, command));
  }
  if (outcome.sent.kind() != v1::OUTCOME_KIND_NOT_FOUND) return;
  auto unlisted = explain::UnlistedDenial(cell, command, command.argv[0]);
  if (unlisted) out->push_back(*std::move(unlisted));
}

bool Failed(const Outcome& outcome) {
  return outcome.sent.kind() == v1::OUTCOME_KIND_SIGNALLED ||
         outcome.sent.kind() == v1::OUTCOME_KIND_TIMED_OUT ||
         outcome.sent.kind() == v1::OUTCOME_KIND_OOM_KILLED ||
         (outcome.sent.kind() == v1::OUTCOME_KIND_EXITED && outcome.sent.exit_code() != 0);
}

bool HasParent(const std::string& path) {
  return ("/" + path + "/").find("/../") != std::string::npos;
}

void AddHints(const explain::Cell& cell, const explain::Command& command, int exit_code,
              std::string_view stderr_tail, std::vector<Denial>* out) {
  for (Denial& hint : explain::FindHints(cell, command, exit_code, stderr_tail)) {
    const bool known = std::any_of(out->begin(), out->end(),
                                   [&](const Denial& d) { return IsSameThing(d, hint); });
    if (!known) out->push_back(std::move(hint));
  }
}

}  // namespace

std::vector<Denial> FindDenials(const explain::Cell& cell, const ExecOptions& options,
                                const Outcome& outcome, std::string_view stderr_tail,
                                const FindProgram& find_program) {
  const explain::Command command{options.spec.argv, options.spec.cwd, find_program};
  std::vector<Denial> out;
  AddLimits(cell, options, outcome, &out);
  // On the host: what else was refused, the host refused its user.
  if (!cell.compiled.unconfined) {
    AddExecution(cell, command, outcome, &out);
    for (const cell::RefusedCall& call : outcome.refused_calls) {
      out.push_back(call.destination.empty() ? explain::CallDenial(call)
                                             : explain::NetworkDenial(cell, call));
    }
    if (Failed(outcome)) AddHints(cell, command, outcome.sent.exit_code(), stderr_tail, &out);
  }
  NameTheCommand(ProcessOf(options, outcome), &out);
  return out;
}

std::string DescribeNeverForked(const explain::Cell& cell) {
  // What would allow it is in the denial, which each client words as it takes options.
  return "the cell has as many processes as it may: " +
         explain::LimitDenial(cell, Limit::kPids, 0).rule;
}

Denial FindFileDenial(const explain::Cell& cell, const tool::Request& request,
                      const tool::Response& response) {
  const Access access = tool::Writes(request.op) ? Access::kWrite : Access::kRead;
  const std::string path = explain::ResolveInCell(cell, plan::kWorkspacePath, request.path);
  explain::Answer answer = explain::ExplainPath(cell, path, access);
  // "..": refused whatever it leads to.
  const bool by_worker = answer.allowed || HasParent(request.path);
  if (by_worker) answer = {false, "policy: " + response.error, ""};
  Denial denial = explain::PathDenial(path, access, answer);
  denial.repeats_error = by_worker;
  denial.process = kFileWorker;
  return denial;
}

std::string DescribeFileError(const tool::Response& response, const std::optional<Denial>& denial) {
  if (!denial || denial->repeats_error) return response.error;
  const std::string error = response.error + " (" + denial->rule + ")";
  return denial->grant.empty() ? error : error + "; to allow: " + denial->grant.text;
}

}  // namespace odyssey::supervisor
