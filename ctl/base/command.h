#ifndef ODYSSEY_CTL_BASE_COMMAND_H_
#define ODYSSEY_CTL_BASE_COMMAND_H_

// What a command is. One table of them (command_table.h) is the source of parsing, help, completion
// and the manual.

#include <string>
#include <string_view>
#include <vector>

#include "ctl/base/console.h"
#include "ctl/base/locations.h"
#include "ctl/base/option_parser.h"

namespace odyssey::ctl {

// One call of a command: everything it may look at.
struct Invocation {
  const Console* console = nullptr;
  Locations locations;
  ParsedOptions options;
};

struct Command {
  std::string_view name;  // "session create"
  std::string_view summary;
  std::vector<PositionalSpec> positionals;
  std::vector<OptionSpec> options;
  std::string_view notes;  // more help: exit codes, examples; may be empty
  // What a usage error exits with: 125 where other codes are the command's own.
  int usage_exit = 2;
  // Returns the exit code. Has reported its own failure on stderr.
  int (*run)(const Invocation&) = nullptr;
};

// One file of commands each.
std::vector<Command> DaemonCommands();
std::vector<Command> SettingsCommands();
std::vector<Command> StatusCommands();
std::vector<Command> MetricsCommands();
std::vector<Command> BackupCommands();
std::vector<Command> GcCommands();
std::vector<Command> ExecCommands();
std::vector<Command> AgentCommands();
std::vector<Command> RunCommands();
std::vector<Command> AcpCommands();
std::vector<Command> McpCommands();
std::vector<Command> TuiCommands();
std::vector<Command> SessionCommands();
std::vector<Command> QuotaCommands();
std::vector<Command> SessionFileCommands();
std::vector<Command> TurnCommands();
std::vector<Command> JobCommands();
std::vector<Command> ToolCommands();
std::vector<Command> ApprovalCommands();
std::vector<Command> TokenCommands();
std::vector<Command> AuditCommands();
std::vector<Command> ProviderCommands();
std::vector<Command> CellCommands();
std::vector<Command> ImageCommands();
std::vector<Command> AccessCommands();
std::vector<Command> CellPolicyCommands();
std::vector<Command> EgressCommands();
std::vector<Command> ImageBuildCommands();
std::vector<Command> ChangesCommands();
std::vector<Command> TransferCommands();
std::vector<Command> PolicyCommands();
std::vector<Command> BundleCommands();
std::vector<Command> BundleStoreCommands();
std::vector<Command> HubCommands();
std::vector<Command> CompletionCommands();

}  // namespace odyssey::ctl

#endif  // ODYSSEY_CTL_BASE_COMMAND_H_
