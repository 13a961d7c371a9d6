// tui: the terminal interface.
#include <signal.h>
#include <stdlib.h>

#include <memory>
#include <string>
#include <vector>

#include "ctl/base/command.h"
#include "ctl/base/exit_code.h"
#include "ctl/base/sanitize.h"
#include "ctl/base/signal_fd.h"
#include "ctl/client/client.h"
#include "ctl/tui/slash_command.h"
#include "ctl/tui/terminal_screen.h"
#include "ctl/tui/tui_loop.h"

namespace odyssey::ctl {
namespace {

bool ColorsAreWanted() {
  const char* const no_color = getenv("NO_COLOR");
  return no_color == nullptr || *no_color == '\0';
}

// What goes on without the person, and how to look at it again.
void SayWhatGoesOn(const Console& console, const TuiState& state) {
  if (!state.session) return;
  const std::string id = Sanitize(state.session->id(), Lines::kOne);
  if (!state.running_turn.empty()) console.PrintLine("the turn goes on in " + id);
  console.PrintLine("odyssey-ctl tui --session " + id + " shows it again");
}

int RefuseTerminal(const Console& console, const Status& status) {
  return console.Fail({"tui", status.message(),
                       "odyssey-ctl run BUNDLE PROMPT shows a turn as lines of text, odyssey-ctl "
                       "approval watch what waits for an answer."});
}

int Tui(const Invocation& call) {
  const Console& console = *call.console;
  TuiOptions options = {.bundle = call.options.Text("bundle"),
                        .cwd = call.options.Text("cwd"),
                        .allow_danger = call.options.Has("dangerous-sandbox-mode"),
                        .colors = ColorsAreWanted()};
  if (call.options.Has("session")) {
    const std::optional<std::string> id = SessionIdOf(call.options.Text("session"));
    if (!id) {
      console.Fail({"tui", "--session " + call.options.Text("session") + ": invalid session id",
                    "odyssey-ctl session list lists the sessions."});
      return kExitUsage;
    }
    options.session_id = *id;
  }
  if (const Status status = TerminalScreen::Check(); !status.ok())
    return RefuseTerminal(console, status);
  const Result<Client> client = Client::Connect(Daemon::kAgentd, call.locations);
  if (!client.ok()) return console.Fail(ExplainConnect("tui", client.status()));
  const UniqueFd signals = MakeSignalFd({SIGINT, SIGTERM, SIGHUP, SIGWINCH});
  Result<std::unique_ptr<TerminalScreen>> screen = TerminalScreen::Open();
  if (!screen.ok()) return RefuseTerminal(console, screen.status());
  TuiLoop loop(console, call.locations, std::move(options), signals.get(), screen->get());
  loop.Run();
  *screen = std::unique_ptr<TerminalScreen>();
  SayWhatGoesOn(console, loop.state());
  return kExitOk;
}

}  // namespace

std::vector<Command> TuiCommands() {
  return {{.name = "tui",
           .summary = "work with agents on a full screen: conversation, approvals, cells",
           .options = {{.name = "bundle",
                        .letter = 'b',
                        .kind = ValueKind::kDirectory,
                        .value_name = "BUNDLE",
                        .help = "of new sessions: a bundle directory, or an installed bundle"},
                       {.name = "session",
                        .kind = ValueKind::kText,
                        .value_name = "ID",
                        .help = "show this session"},
                       {.name = "cwd",
                        .kind = ValueKind::kDirectory,
                        .value_name = "DIR",
                        .help = "what \".\" in the bundle's mounts means (default: here)"},
                       {.name = "dangerous-sandbox-mode",
                        .help = "the bundle's danger_full_access is meant: UNCONFINED on the "
                                "host"}},
           .notes = "Needs a terminal of 60 columns and 16 rows. F1 or /help shows commands and "
                    "keys.",
           .run = Tui}};
}

}  // namespace odyssey::ctl
