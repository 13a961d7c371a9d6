// exec: one command in a cell.
#include <unistd.h>

#include <utility>
#include <vector>

#include "ctl/base/command.h"
#include "ctl/base/exit_code.h"
#include "ctl/exec/exec_call.h"
#include "ctl/exec/exec_run.h"
#include "ctl/policy/exec_options.h"
#include "ctl/policy/policy_asker.h"
#include "policy/dialect/ceiling_directory.h"

namespace odyssey::ctl {
namespace {

constexpr char kOptions[] = "odyssey-ctl exec --help lists the options.";

int ExecCommand(const Invocation& call) {
  const Console& console = *call.console;
  ExecInputs inputs = MakeExecInputs();
  if (call.options.Has("owner")) {
    const auto found = dialect::FindOwner("--owner", call.options.Text("owner"));
    if (!found.ok()) return CannotExec(console, {"exec", found.status().message(), kOptions});
    inputs.owner_uid = found->uid;
  }
  const uid_t owner = inputs.owner_uid.value_or(getuid());
  const PolicyAsker asker(dialect::OwnerOf(owner), call.locations);
  if (owner != getuid()) inputs.home = asker.owner().home;
  Result<ExecOptions> options = ReadExecOptions(call.options, inputs);
  if (!options.ok()) {
    return CannotExec(console, {"exec", options.status().message(), kOptions});
  }
  return RunExec(console, asker, *std::move(options), inputs.places.get());
}

}  // namespace

std::vector<Command> ExecCommands() {
  return {{.name = "exec",
           .summary = "run one command in a cell made for it",
           .positionals = {{.name = "CMD", .required = false, .rest = true}},
           .options = ExecOptionSpecs(),
           .notes =
               "Exit code: the command's own; 124 timed out, 125 Odyssey could not do it, 126 not "
               "permitted,\n127 not found, 128+N killed by signal N, 137 also out of memory "
               "(stderr says which).\n"
               "With -o json the last line of stderr is {\"outcome\", \"denials\"}, also where no "
               "command began. SIGINT, SIGTERM, "
               "SIGQUIT and SIGHUP go to the\ncommand; a second SIGINT ends it, and so do ten "
               "seconds after SIGTERM or SIGHUP.\nWith --review the exit code is the command's all "
               "the same. Without a terminal, and with -o json, the changes\nare kept, and stderr "
               "says under which name: see changes, commit and discard.",
           .usage_exit = kExitCannot,
           .run = ExecCommand}};
}

}  // namespace odyssey::ctl
