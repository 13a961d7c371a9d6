#ifndef ODYSSEY_TESTS_FAKES_FED_COMMAND_H_
#define ODYSSEY_TESTS_FAKES_FED_COMMAND_H_

// A command that runs until it is told to end, for FakeSandbox::on_exec: it prints its stdin, exits
// with 0 at the end of it, and a signal ends it.

#include <optional>
#include <string>

#include "tests/fakes/fake_sandbox.h"

namespace odyssey::fakes {

inline Result<pb::ExecOutcome> FedCommand(const pb::ExecStart&, const sandbox::ExecSink& sink,
                                          std::stop_token stop) {
  ODY_RETURN_IF_ERROR(Begin(sink));
  const std::stop_callback cancel(stop, [&sink] { sink.feed->End(); });
  while (const std::optional<pb::ExecRequest> message = sink.feed->Take()) {
    if (message->has_stdin()) ODY_RETURN_IF_ERROR(Print(sink, message->stdin()));
    if (message->has_stdin_eof()) return Exited();
    if (message->message_case() != pb::ExecRequest::kSignal) continue;
    pb::ExecOutcome outcome;
    outcome.set_kind(pb::OUTCOME_KIND_SIGNALLED);
    outcome.set_signal(message->signal());
    return outcome;
  }
  return Cancelled("the command was cancelled");
}

}  // namespace odyssey::fakes

#endif  // ODYSSEY_TESTS_FAKES_FED_COMMAND_H_
