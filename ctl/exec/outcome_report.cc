#include "ctl/exec/outcome_report.h"

#include "ctl/base/exit_code.h"
#include "ctl/base/sanitize.h"
#include "ctl/base/units.h"

namespace odyssey::ctl {
namespace {

// "why" if the supervisor said it, otherwise a plain sentence.
// The command's name, with which errors of execve begin, has been said already.
std::string Because(const supervisor::v1::ExecOutcome& outcome, const std::string& command,
                    const std::string& otherwise) {
  if (outcome.message().empty()) return otherwise;
  const std::string name = command + ": ";
  const bool begins = outcome.message().compare(0, name.size(), name) == 0;
  return Sanitize(outcome.message().substr(begins ? name.size() : 0), Lines::kOne);
}

}  // namespace

ExitReport ReportOutcome(const supervisor::v1::ExecOutcome& outcome, const std::string& command,
                         int signal) {
  const std::string name = Sanitize(command, Lines::kOne);
  switch (outcome.kind()) {
    case supervisor::v1::OUTCOME_KIND_EXITED:
      return {outcome.exit_code() & 0xFF, ""};
    case supervisor::v1::OUTCOME_KIND_SIGNALLED:
      return {kExitSignalBase + outcome.signal(), ""};
    case supervisor::v1::OUTCOME_KIND_TIMED_OUT:
      return {kExitTimedOut, name + ": timed out after " +
                                 FormatDurationMs(outcome.duration_usec() / 1000) +
                                 "; every process of it was killed"};
    case supervisor::v1::OUTCOME_KIND_OOM_KILLED:
      return {kExitOutOfMemory, name + ": out of memory: " +
                                    Because(outcome, command, "killed at the cell's memory limit")};
    case supervisor::v1::OUTCOME_KIND_DENIED:
      return {kExitDenied, name + ": not permitted: " +
                               Because(outcome, command, "the policy does not let it execute")};
    case supervisor::v1::OUTCOME_KIND_NOT_FOUND:
      return {kExitNotFound,
              name + ": not found: " + Because(outcome, command, "no such command in the cell")};
    case supervisor::v1::OUTCOME_KIND_CANCELLED:
      if (signal != 0) return {kExitSignalBase + signal, ""};
      return {kExitCannot,
              name + ": cancelled: " + Because(outcome, command, "the cell was removed")};
    case supervisor::v1::OUTCOME_KIND_SETUP_FAILED:
      if (outcome.cell_ended()) {
        return {kExitCannot, name + ": interrupted: " + Sanitize(outcome.message(), Lines::kOne)};
      }
      return {kExitCannot,
              name + ": not started: " + Because(outcome, command, "the cell could not start it")};
    default:
      return {kExitCannot, name + ": the supervisor answered an unknown outcome " +
                               std::to_string(outcome.kind())};
  }
}

std::string EndedProcesses(const supervisor::v1::ExecOutcome& outcome) {
  std::string names;
  for (const std::string& name : outcome.ended_processes()) {
    names += (names.empty() ? "" : ", ") + Sanitize(name, Lines::kOne);
  }
  const int count = outcome.ended_processes_size();
  return "ended with the command: " + std::to_string(count) +
         (count == 1 ? " process" : " processes") + " that it left running (" + names + ")";
}

}  // namespace odyssey::ctl
