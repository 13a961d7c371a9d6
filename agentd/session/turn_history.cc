#include "agentd/session/turn_history.h"

#include <utility>

namespace odyssey::session {

using agent::v1::Event;
using model::MessageKind;

void TurnHistory::Add(const Event& event) {
  if (event.has_turn_started() && event.turn_started().turn_id() == turn_id_) {
    messages_.push_back({MessageKind::kUser, event.turn_started().prompt(), {}});
  } else if (event.has_agent_message_delta() && event.agent_message_delta().turn_id() == turn_id_) {
    if (messages_.empty() || messages_.back().kind != MessageKind::kAssistant) {
      messages_.push_back({MessageKind::kAssistant, "", {}});
    }
    messages_.back().content += event.agent_message_delta().delta();
  } else if (event.has_tool_call_started() && event.tool_call_started().turn_id() == turn_id_) {
    const agent::v1::ToolCallStarted& call = event.tool_call_started();
    calls_[call.tool_call_id()] = {call.tool_call_id(), call.tool_name(), call.arguments_json()};
  } else if (event.has_tool_call_finished() && event.tool_call_finished().turn_id() == turn_id_) {
    const agent::v1::ToolCallFinished& result = event.tool_call_finished();
    const auto call = calls_.find(result.tool_call_id());
    if (call == calls_.end()) return;
    messages_.push_back({MessageKind::kToolUse, "", {call->second}});
    messages_.push_back({MessageKind::kToolResult,
                         "",
                         {{call->second.id, call->second.name, result.result_json()}}});
    calls_.erase(call);
  }
}

}  // namespace odyssey::session
