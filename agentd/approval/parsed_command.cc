#include "agentd/approval/parsed_command.h"

#include <algorithm>
#include <string>
#include <utility>

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
    for (std::string word : command.words) {
      std::replace_if(word.begin(), word.end(), rules::IsUnknown, rules::kUnknown);
      added->add_argv(std::move(word));
    }
    added->set_kind(KindName(command.kind));
  }
  return out;
}

}  // namespace odyssey::approval
