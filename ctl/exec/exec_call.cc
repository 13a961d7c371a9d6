#include "ctl/exec/exec_call.h"

#include <signal.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <vector>

#include "common/message/message_json.h"
#include "ctl/base/exit_code.h"
#include "ctl/base/sanitize.h"
#include "ctl/base/signal_fd.h"
#include "ctl/base/terminal.h"

namespace odyssey::ctl {
namespace {

const std::vector<int>& EndingSignals() {
  static const std::vector<int> signals = {SIGINT, SIGTERM, SIGQUIT, SIGHUP};
  return signals;
}

std::vector<int> Signals(bool terminal) {
  std::vector<int> signals = EndingSignals();
  if (terminal) signals.push_back(SIGWINCH);
  return signals;
}

// Of what ended the command, or kept it from beginning; "" if nothing that is granted did.
std::string WhatAllows(const std::vector<supervisor::v1::Denial>& denials) {
  for (const supervisor::v1::Denial& denial : denials) {
    const bool ended = denial.verdict() == "kill" || denial.kind() == "exec";
    if (ended && !denial.hint() && !denial.grant().empty()) {
      return "To allow it: " + Sanitize(denial.grant(), Lines::kOne);
    }
  }
  return "";
}

// stdout is the command's.
void TellAsJson(const Console& console, const supervisor::v1::ExecOutcome& outcome,
                const std::vector<supervisor::v1::Denial>& denials) {
  Json json = {{"outcome", message::ToJson(outcome)}, {"denials", Json::array()}};
  for (const supervisor::v1::Denial& denial : denials)
    json["denials"].push_back(message::ToJson(denial));
  console.WarnJson(json);
}

}  // namespace

int CannotExec(const Console& console, const Failure& failure) {
  console.Fail(failure);
  if (console.json) {
    supervisor::v1::ExecOutcome outcome;
    outcome.set_kind(supervisor::v1::OUTCOME_KIND_SETUP_FAILED);
    outcome.set_message(failure.why.empty() ? failure.what : failure.why);
    TellAsJson(console, outcome, {});
  }
  return kExitCannot;
}

Status CheckTerminal(const Console& console, bool terminal) {
  if (!terminal || console.in_is_terminal) return OkStatus();
  return InvalidArgument("--tty: stdin is not a terminal; leave it out");
}

ExecCall::ExecCall(bool terminal, ShowDenials denials)
    : terminal_(terminal),
      denials_(denials),
      ending_(MakeSignalFd(EndingSignals())),
      signals_(MakeSignalFd(Signals(terminal))) {}

rpc::CallOptions ExecCall::Interruptible(int deadline_ms) const {
  return {deadline_ms, ending_.get()};
}

int ExecCall::interrupted_by() const { return PendingSignal(EndingSignals()); }

int ExecCall::Run(const Console& console, supervisor::v1::ExecStart start, const Client& client,
                  const dialect::Origins& origins, const std::function<ExecStream()>& make_stream) {
  if (const int signal = interrupted_by(); signal != 0) return kExitSignalBase + signal;
  start.set_open_stdin(true);
  if (terminal_) {
    const TerminalSize size = CurrentTerminalSize();
    start.mutable_terminal()->set_rows(size.rows);
    start.mutable_terminal()->set_columns(size.columns);
  }
  ExecStream stream = make_stream();
  ExecPump pump(&stream, {.in = STDIN_FILENO,
                          .out = STDOUT_FILENO,
                          .err = STDERR_FILENO,
                          .signals = signals_.get(),
                          .clean_out = !terminal_ && isatty(STDOUT_FILENO) == 1,
                          .clean_err = !terminal_ && isatty(STDERR_FILENO) == 1});
  ExitReport report;
  {
    std::optional<RawTerminal> raw;
    const auto started = [&] {
      if (terminal_) raw.emplace(STDIN_FILENO);
    };
    report = pump.Run(start, started, [&](const Status& status) {
      const Failure failure = client.Explain("exec", status, origins);
      return ExitReport{kExitCannot, failure.what + ": " + failure.why, failure.next};
    });
  }
  std::vector<supervisor::v1::Denial> denials = pump.denials();
  for (supervisor::v1::Denial& denial : denials) {
    if (words_) denial.set_grant(words_(denial));
  }
  if (console.json && pump.outcome()) {
    TellAsJson(console, *pump.outcome(), denials);
    return report.code;
  }
  if (denials_ == ShowDenials::kAlways) {
    for (const std::string& line : DenialLines(denials, pump.denial_count())) {
      console.Warn("odyssey-ctl: " + line);
    }
  }
  if (tells_ended_ && pump.outcome() && !pump.outcome()->ended_processes().empty()) {
    console.Warn("odyssey-ctl: " + EndedProcesses(*pump.outcome()));
  }
  if (report.message.empty()) return report.code;
  if (denials_ == ShowDenials::kNever && report.next.empty()) report.next = WhatAllows(denials);
  if (!pump.outcome()) return CannotExec(console, {report.message, "", report.next});
  console.Fail({report.message, "", report.next});
  return report.code;
}

}  // namespace odyssey::ctl
