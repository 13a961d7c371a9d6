// mcp: a session's tools for a client that has its own model.
#include <signal.h>

#include <vector>

#include "ctl/base/command.h"
#include "ctl/base/exit_code.h"
#include "ctl/base/signal_fd.h"
#include "ctl/mcp/mcp_server.h"

namespace odyssey::ctl {
namespace {

int Mcp(const Invocation& call) {
  // Before there are threads, which must not take the signals.
  const UniqueFd signals = MakeSignalFd({SIGINT, SIGTERM, SIGHUP});
  McpServer(*call.console, call.locations,
            {.bundle = call.options.Word(0),
             .cwd = call.options.Text("cwd"),
             .approve = ApproveModeOf(call.options.Text("approve")),
             .review = call.options.Has("review"),
             .keep = call.options.Has("keep")},
            signals.get())
      .Run();
  return kExitOk;
}

}  // namespace

std::vector<Command> McpCommands() {
  return {{.name = "mcp",
           .summary = "serve confined tools by the Model Context Protocol on stdin and stdout",
           .positionals = {{.name = "BUNDLE", .kind = ValueKind::kDirectory}},
           .options = {{.name = "approve",
                        .kind = ValueKind::kChoice,
                        .value_name = "HOW",
                        .help = "ask (default: by the client's elicitation, without which that "
                                "denies), all, deny, or strict: deny and name the rule",
                        .choices = ApproveModeNames()},
                       {.name = "cwd",
                        .kind = ValueKind::kDirectory,
                        .value_name = "DIR",
                        .help = "what \".\" in the bundle's mounts means (default: here)"},
                       {.name = "review",
                        .help = "directories are written on a copy; odyssey-ctl diff and commit "
                                "take them over"},
                       {.name = "keep",
                        .help = "keep the session when the client has gone; "
                                "--review keeps it too"}},
           .notes = "BUNDLE is a bundle directory, or an installed bundle: [NS/]ID[@VERSION], "
                    "sha256:HEX. Its agent has model.provider: direct.",
           .run = Mcp}};
}

}  // namespace odyssey::ctl
