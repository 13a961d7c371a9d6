#include "agentd/tool/command_outcome.h"

#include <vector>

#include "common/message/enum_name.h"

namespace odyssey::tools {

namespace pb = ::odyssey::supervisor::v1;
using Json = nlohmann::json;

namespace {

constexpr char kEndedNote[] =
    "the processes that the command left running were ended with it; start a command that is to go "
    "on with background: true";

}  // namespace

bool Exited(const pb::ExecOutcome& ended) { return ended.kind() == pb::OUTCOME_KIND_EXITED; }

std::string WhyEnded(const pb::ExecOutcome& ended, const std::string& shell) {
  const std::string detail = ended.message().empty() ? "" : ": " + ended.message();
  switch (ended.kind()) {
    case pb::OUTCOME_KIND_EXITED:
      return "";
    case pb::OUTCOME_KIND_SIGNALLED:
      return "execution failed: command was killed by signal " + std::to_string(ended.signal());
    case pb::OUTCOME_KIND_TIMED_OUT:
      return "execution failed: " + ended.message();
    case pb::OUTCOME_KIND_OOM_KILLED:
      return "execution failed: command was killed because the cell's memory limit was reached";
    case pb::OUTCOME_KIND_DENIED:
      return "permission denied: the policy does not let " + shell + " execute" + detail;
    case pb::OUTCOME_KIND_NOT_FOUND:
      return "execution failed: there is no " + shell + " in the cell" + detail;
    default:
      return "execution failed: command could not be started" + detail;
  }
}

void AddOutcome(const pb::ExecOutcome& ended, Json* result) {
  (*result)["status_code"] = Exited(ended) ? Json(ended.exit_code()) : Json(nullptr);
  (*result)["outcome"] = message::EnumName(ended.kind());
  if (ended.kind() == pb::OUTCOME_KIND_SIGNALLED) (*result)["signal"] = ended.signal();
  if (ended.ended_processes().empty()) return;
  const auto& names = ended.ended_processes();
  (*result)["ended_processes"] = std::vector<std::string>(names.begin(), names.end());
  (*result)["note"] = kEndedNote;
}

}  // namespace odyssey::tools
