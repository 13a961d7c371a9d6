#include "agentd/event/command_events.h"

#include <utility>

namespace odyssey::event {

using agent::v1::Event;

Event CommandBegins(const CommandId& id, const std::vector<std::string>& argv,
                    const std::string& cwd) {
  Event out;
  agent::v1::ExecCommandBegin& begin = *out.mutable_exec_command_begin();
  begin.set_turn_id(id.turn_id);
  begin.set_exec_id(id.exec_id);
  begin.mutable_command()->Assign(argv.begin(), argv.end());
  begin.set_cwd(cwd);
  return out;
}

Event CommandPrints(const CommandId& id, const char* stream, std::string text) {
  Event out;
  agent::v1::ExecCommandOutputDelta& output = *out.mutable_exec_command_output_delta();
  output.set_turn_id(id.turn_id);
  output.set_exec_id(id.exec_id);
  output.set_stream(stream);
  output.set_delta(std::move(text));
  return out;
}

Event CommandEnds(const CommandId& id, int32_t exit_code, std::string_view outcome) {
  Event out;
  agent::v1::ExecCommandEnd& end = *out.mutable_exec_command_end();
  end.set_turn_id(id.turn_id);
  end.set_exec_id(id.exec_id);
  end.set_exit_code(exit_code);
  end.set_outcome(std::string(outcome));
  return out;
}

Event AccessIsDenied(const std::string& turn_id, const std::string& tool_call_id,
                     const supervisor::v1::Denial& denial) {
  Event out;
  agent::v1::AccessDenied& denied = *out.mutable_access_denied();
  denied.set_turn_id(turn_id);
  denied.set_tool_call_id(tool_call_id);
  *denied.mutable_denial() = denial;
  return out;
}

Event EgressIsDecided(const std::string& turn_id, const std::string& tool_call_id,
                      const supervisor::v1::EgressDecision& decision) {
  Event out;
  agent::v1::EgressDecided& decided = *out.mutable_egress_decided();
  decided.set_turn_id(turn_id);
  decided.set_tool_call_id(tool_call_id);
  *decided.mutable_decision() = decision;
  return out;
}

}  // namespace odyssey::event
