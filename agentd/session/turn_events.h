#ifndef ODYSSEY_AGENTD_SESSION_TURN_EVENTS_H_
#define ODYSSEY_AGENTD_SESSION_TURN_EVENTS_H_

// The events of a turn's beginning and end. Pure.

#include <string>
#include <vector>

#include "agentd/session/session_record.h"
#include "odyssey/agent/v1/event.pb.h"

namespace odyssey::session {

agent::v1::Event TurnStarts(const std::string& turn_id, const std::string& prompt,
                            const std::string& sandbox_mode);

// `status` is one of the four that a turn ends with; `message` is its response or its error. The
// last of the events is the end; before that of a turn that failed comes its error.
std::vector<agent::v1::Event> TurnEnds(const std::string& turn_id, TurnStatus status,
                                       const std::string& message);

// The turn whose end the event is; "" if it is none.
std::string EndedTurn(const agent::v1::Event& event);

}  // namespace odyssey::session

#endif  // ODYSSEY_AGENTD_SESSION_TURN_EVENTS_H_
