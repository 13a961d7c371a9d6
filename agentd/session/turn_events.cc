#include "agentd/session/turn_events.h"

#include <utility>

namespace odyssey::session {

using agent::v1::Event;

Event TurnStarts(const std::string& turn_id, const std::string& prompt,
                 const std::string& sandbox_mode) {
  Event out;
  out.mutable_turn_started()->set_turn_id(turn_id);
  out.mutable_turn_started()->set_prompt(prompt);
  out.mutable_turn_started()->set_sandbox_mode(sandbox_mode);
  return out;
}

std::vector<Event> TurnEnds(const std::string& turn_id, TurnStatus status,
                            const std::string& message) {
  std::vector<Event> out;
  Event end;
  switch (status) {
    case TurnStatus::kCompleted:
      end.mutable_turn_completed()->set_turn_id(turn_id);
      end.mutable_turn_completed()->set_message(message);
      break;
    case TurnStatus::kCancelled:
      end.mutable_turn_cancelled()->set_turn_id(turn_id);
      break;
    default:
      out.emplace_back();
      out.back().mutable_error()->set_turn_id(turn_id);
      out.back().mutable_error()->set_message(message);
      end.mutable_turn_failed()->set_turn_id(turn_id);
      end.mutable_turn_failed()->set_message(message);
      end.mutable_turn_failed()->set_interrupted(status == TurnStatus::kInterrupted);
  }
  out.push_back(std::move(end));
  return out;
}

std::string EndedTurn(const Event& event) {
  switch (event.payload_case()) {
    case Event::kTurnCompleted:
      return event.turn_completed().turn_id();
    case Event::kTurnFailed:
      return event.turn_failed().turn_id();
    case Event::kTurnCancelled:
      return event.turn_cancelled().turn_id();
    default:
      return "";
  }
}

}  // namespace odyssey::session
