#include "agentd/approval/parsed_command.h"

#include "policy/rules/shell_split.h"

namespace odyssey::approval {
namespace {

const char* KindName(rules::CommandKind kind) {
  switch (kind) {
    case rules::CommandKind::kRuns:
      return "runs";
    case rules::CommandKind::kWrapper:
      return "wrapper";
    case rules::CommandKind::kGuess:
      return "guess";
    case rules::CommandKind::kOpaque:
      break;
  }
  return "opaque";
}

}  // namespace

agent::v1::SimpleCommands ParsedCommand(std::string_view line) {
  agent::v1::SimpleCommands out;
  const Result<rules::ShellLine> split = rules::SplitShell(line);
  if (!split.ok()) return out;
  for (const rules::SimpleCommand& command : split->commands) {
    if (command.words.empty()) continue;
    agent::v1::SimpleCommand* added = out.add_commands();
    added->mutable_argv()->Assign(command.words.begin(), command.words.end());
    added->set_kind(KindName(command.kind));
  }
  return out;
}

}  // namespace odyssey::approval
