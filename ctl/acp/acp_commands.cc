// acp: agents of Odyssey in an editor.
#include <signal.h>

#include <vector>

#include "ctl/acp/acp_server.h"
#include "ctl/base/command.h"
#include "ctl/base/exit_code.h"
#include "ctl/base/signal_fd.h"

namespace odyssey::ctl {
namespace {

int Acp(const Invocation& call) {
  // Before there are threads, which must not take the signals.
  const UniqueFd signals = MakeSignalFd({SIGINT, SIGTERM, SIGHUP});
  AcpServer(*call.console, call.locations,
            {.bundle = call.options.Word(0),
             .approve = ApproveModeOf(call.options.Text("approve")),
             .allow_danger = call.options.Has("dangerous-sandbox-mode"),
             .review = call.options.Has("review")},
            signals.get())
      .Run();
  return kExitOk;
}

}  // namespace

std::vector<Command> AcpCommands() {
  return {
      {.name = "acp",
       .summary = "serve an agent to an editor by the Agent Client Protocol on stdin and stdout",
       .positionals = {{.name = "BUNDLE", .kind = ValueKind::kDirectory}},
       .options = {{.name = "approve",
                    .kind = ValueKind::kChoice,
                    .value_name = "HOW",
                    .help = "the mode of sessions that are opened: ask (default: in the "
                            "editor), all, deny, or strict: deny and name the rule",
                    .choices = ApproveModeNames()},
                   {.name = "review",
                    .help = "directories are written on a copy; odyssey-ctl diff and commit "
                            "take them over"},
                   {.name = "dangerous-sandbox-mode",
                    .help = "the bundle's danger_full_access is meant: UNCONFINED on the "
                            "host"}},
       .notes = "BUNDLE is a bundle directory, or an installed bundle: [NS/]ID[@VERSION], "
                "sha256:HEX.\nThe protocol's version is 1. When stdin ends, the turns that "
                "run are cancelled.",
       .run = Acp}};
}

}  // namespace odyssey::ctl
