#include "ctl/cli/command_table.h"

#include <iterator>
#include <utility>

namespace odyssey::ctl {
namespace {

std::vector<Command> MakeTable() {
  std::vector<Command> table;
  for (auto* group : {DaemonCommands,      SettingsCommands, StatusCommands,      MetricsCommands,
                      BackupCommands,      GcCommands,       ExecCommands,        AgentCommands,
                      RunCommands,         AcpCommands,      McpCommands,         SessionCommands,
                      SessionFileCommands, QuotaCommands,    TurnCommands,        JobCommands,
                      ToolCommands,        ApprovalCommands, AuditCommands,       ProviderCommands,
                      CellCommands,        ImageCommands,    ImageBuildCommands,  AccessCommands,
                      CellPolicyCommands,  EgressCommands,   ChangesCommands,     TransferCommands,
                      PolicyCommands,      BundleCommands,   BundleStoreCommands, HubCommands,
                      TuiCommands,         TokenCommands,    CompletionCommands}) {
    std::vector<Command> commands = group();
    table.insert(table.end(), std::make_move_iterator(commands.begin()),
                 std::make_move_iterator(commands.end()));
  }
  return table;
}

}  // namespace

const std::vector<Command>& CommandTable() {
  static const std::vector<Command> table = MakeTable();
  return table;
}

const std::vector<OptionSpec>& GlobalOptions() {
  static const std::vector<OptionSpec> options = {
      {.name = "state",
       .kind = ValueKind::kDirectory,
       .value_name = "DIR",
       .help = "state directory (default /var/lib/odyssey for root; else ~/.odyssey, or "
               "/var/lib/odyssey where daemons run in that alone)"},
      {.name = "socket",
       .kind = ValueKind::kFile,
       .value_name = "PATH",
       .help = "agentd's socket (default: the state directory's, then /run/odyssey/agentd.sock)"},
      {.name = "output",
       .letter = 'o',
       .kind = ValueKind::kChoice,
       .value_name = "FORMAT",
       .help = "text or json",
       .choices = {"text", "json"}},
      {.name = "version", .help = "the same as the command"},
      {.name = "help", .letter = 'h', .help = "this text; after a command, that command's"},
  };
  return options;
}

const Command* FindCommand(const std::vector<std::string>& arguments, size_t* words) {
  for (const size_t count : {size_t{2}, size_t{1}}) {
    if (arguments.size() < count) continue;
    std::string name = arguments[0];
    if (count == 2) name += " " + arguments[1];
    for (const Command& command : CommandTable()) {
      if (command.name != name) continue;
      *words = count;
      return &command;
    }
  }
  return nullptr;
}

}  // namespace odyssey::ctl
