#include "agentd/event/redacted_events.h"

#include "agentd/event/command_events.h"

namespace odyssey::event {

using agent::v1::Event;

std::vector<Event> RedactedEvents::Of(Event event) {
  std::vector<Event> out;
  if (event.has_exec_command_output_delta()) {
    agent::v1::ExecCommandOutputDelta& delta = *event.mutable_exec_command_output_delta();
    agent::StreamRedactor& stream =
        streams_.try_emplace({delta.exec_id(), delta.stream()}, redactor_).first->second;
    delta.set_delta(stream.Push(delta.delta()));
    if (delta.delta().empty()) return out;
  } else if (event.has_exec_command_end()) {
    out = Rest(event.exec_command_end());
  }
  out.push_back(std::move(event));
  return out;
}

std::vector<Event> RedactedEvents::Rest(const agent::v1::ExecCommandEnd& end) {
  std::vector<Event> out;
  for (const char* name : {"stdout", "stderr"}) {
    const auto stream = streams_.find({end.exec_id(), name});
    if (stream == streams_.end()) continue;
    std::string text = stream->second.Finish();
    if (text.empty()) continue;
    out.push_back(CommandPrints({end.turn_id(), end.exec_id()}, name, std::move(text)));
  }
  return out;
}

}  // namespace odyssey::event
